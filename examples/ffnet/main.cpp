// SPDX-License-Identifier: MIT
// The ladder of data-parallel training, rung by rung, on generated data:
//
//   one         one process that sees every sample
//   naive       ranks; after the whole backward, one all-reduce for each parameter
//   buckets     the same with few large all-reduces
//   overlap     buckets leave while backward still runs
//   accumulate  one process again: as many micro-batches in a step as there were ranks
//   average     ranks that average their parameters after each step instead of the gradients before it
//
// naive, buckets, overlap and accumulate end with the same weights, bit for bit. With average each rank continues with a
// momentum of its own, which the others never see: the last column shows how far two ranks drift apart. A rank has one thread
// on every rung, also where it is alone, because the comparison is of how ranks are joined. Where ranks are processes, each of
// them also climbs the rungs of one process, so that none waits for another.
//
// uses: ranks_of_program
// has --device cuda
// test: --epochs 1 --size small
// test: --epochs 1 --size small --communicator loopback
// test: --epochs 1 --size medium --ranks 3 --rung overlap
// test on a GPU: --device cuda --epochs 1 --size medium
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <cairn/cairn.hpp>

#include "../command_line.hpp"
#include "../devices.hpp"
#include "../ranks_of_program/ranks_of_program.hpp"
#include "../toy_dataset.hpp"

namespace mine {

using namespace cairn;

namespace {

struct job {
  std::string device = "cpu";
  std::string rung = "all";
  std::string size = "all";
  ranks_of_program::told ranks;
  std::size_t epochs = 10;
  std::size_t samples = 4096;
};

struct result {
  double seconds = 0;
  double loss = 0; // over all samples, after training
  std::uint64_t weights = 0;
  double drift = 0; // largest difference between two ranks' momenta
};

// FFNet(100, num_hl, hl_size) -> 1 as in the tutorial: a Linear and a ReLU, num_hl times more of both, and a Linear.
template <std::size_t Layers, std::size_t Width>
struct ffnet {
  using type = Sequential<Linear<100, Width>, ReLU, Repeat<Layers, Sequential<Linear<Width, Width>, ReLU>>, Linear<Width, 1>>;
};
template <std::size_t Width>
struct ffnet<0, Width> {
  using type = Sequential<Linear<100, Width>, ReLU, Linear<Width, 1>>;
};

constexpr std::size_t rows = 32;
constexpr SGD optimizer{.learning_rate = 1e-3, .momentum = 0.9};
using dataset = tensor_dataset<float, float>;
using reading = loader<dataset, sampler, rows>;

template <class Model, class Device>
using training = trainer<Model, MSELoss, SGD, batch<rows>, float, Device>;

template <class Trainer>
double whole_loss(Trainer& train, const dataset& data) {
  double sum = 0;
  for (const auto& [inputs, targets] : loader{data, sequential_sampler{}, batch<rows>{}})
    sum += train.evaluate_loss(inputs, targets) * static_cast<double>(inputs.rows());
  return sum / static_cast<double>(data.size());
}

// The momenta of a rank.
template <class Trainer>
std::vector<float> momenta_of(Trainer& train) {
  std::vector<float> all;
  const auto add = [&](std::span<const float> numbers) { all.insert(all.end(), numbers.begin(), numbers.end()); };
  if constexpr (Trainer::is_apart) train.for_each_optimizer_state([&](std::size_t, const auto& m) { add(m.numbers); });
  else add(train.optimizer_state(0));
  return all;
}

// The largest difference between the momenta of ranks, for the last column: each rank sends its own to all.
double largest_difference(any_rank& rank, const std::vector<float>& momentum) {
  double most = 0;
  cpu device;
  std::vector<float> first, other;
  for (int root = 0; root < rank.size(); ++root) {
    other = momentum;
    auto sent = rank.broadcast(device.compute(), std::as_writable_bytes(std::span(other)), root);
    sent.wait(device.compute());
    if (root == 0) first = other;
    for (std::size_t i = 0; i < first.size(); ++i) most = std::max(most, std::abs(double{first[i]} - double{other[i]}));
  }
  return most;
}

// Every rung runs its ranks through here: `make` builds a rank's trainer, `step` makes one step on a batch. Only rank 0 knows
// the result.
template <class Make, class Step>
result run_ranks(ranks_of_program& ranks, bool quiet, const job& j, const dataset& data, const char* name, Make make, Step step) {
  result out;
  const auto start = std::chrono::steady_clock::now();
  ranks.run([&](any_rank& rank) {
    auto train = make(rank);
    const bool first = rank.rank() == 0;
    reading batches{data, sampler{rank}, batch<rows>{}};
    progress bar(j.epochs * data.size(), {.label = name, .out = first && !quiet ? stderr : nullptr});
    for (std::size_t epoch = 0; epoch < j.epochs; ++epoch)
      for (const auto& [inputs, targets] : batches) {
        const auto loss = step(train, rank, inputs, targets);
        bar.advance(inputs.rows() * static_cast<std::size_t>(rank.size()), {{"loss", loss}});
      }
    bar.finish();
    train.wait();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double drift = largest_difference(rank, momenta_of(train));
    if (!first) return;
    out.seconds = seconds;
    out.drift = drift;
    out.loss = whole_loss(train, data);
    out.weights = train.checksum();
  });
  return out;
}

const auto plain_step = [](auto& train, auto&, const auto& inputs, const auto& targets) { return train.step(inputs, targets); };

// Ranks whose gradients are reduced, in one of several ways.
template <class Net, class Device, class... Options>
result replicas(ranks_of_program& ranks, const job& j, const dataset& data, const char* name) {
  const auto make = [](any_rank& rank) {
    return training<ddp<Net, any_rank, Options...>, Device>{rank, optimizer, {.seed = 7, .threads = 1}};
  };
  return run_ranks(ranks, !ranks.first(), j, data, name, make, plain_step);
}

template <class Net, class Device>
result one(ranks_of_program& ranks, const job& j, const dataset& data, const char* name) {
  const auto make = [](auto&) { return training<Net, Device>{optimizer, {.seed = 7, .threads = 1}}; };
  ranks_of_program alone;
  return run_ranks(alone, !ranks.first(), j, data, name, make, plain_step);
}

// As many micro-batches as ranks, each with the samples that the rank would have read.
template <class Net, class Device>
result accumulate(ranks_of_program& ranks, const job& j, const dataset& data, const char* name) {
  result out;
  training<Net, Device> train{optimizer, {.seed = 7, .threads = 1}};
  const auto parts = static_cast<std::size_t>(ranks.size());
  std::vector<std::unique_ptr<reading>> batches;
  for (std::size_t part = 0; part < parts; ++part)
    batches.push_back(std::make_unique<reading>(data, sampler{part, parts, 0}, batch<rows>{}));
  progress bar(j.epochs * data.size(), {.label = name, .out = ranks.first() ? stderr : nullptr});
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t epoch = 0; epoch < j.epochs; ++epoch) {
    std::vector<reading::iterator> at;
    for (auto& part : batches) at.push_back(part->begin());
    while (at[0] != std::default_sentinel) {
      for (std::size_t part = 0; part < parts; ++part) {
        const auto& [inputs, targets] = *at[part];
        const auto loss = part + 1 < parts ? train.accumulate(inputs, targets) : train.step(inputs, targets);
        bar.advance(inputs.rows(), {{"loss", loss}});
        ++at[part];
      }
    }
  }
  bar.finish();
  train.wait();
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  out.loss = whole_loss(train, data);
  out.weights = train.checksum();
  return out;
}

// Each rank is a job of its own; after every step the ranks take the mean of their parameters. With momentum this is wrong, and
// it is possible only without ddp, by calls of the communicator.
template <class Net, class Device>
result average(ranks_of_program& ranks, const job& j, const dataset& data, const char* name) {
  const auto make = [](auto&) { return training<Net, Device>{optimizer, {.seed = 7, .threads = 1}}; };
  const auto step = []<class Trainer>(Trainer& train, any_rank& rank, const auto& inputs, const auto& targets) {
    const auto loss = train.step(inputs, targets);
    cpu host; // the communicator works on the host
    const auto average = [&](std::span<float> numbers) {
      auto sum = rank.all_reduce(host.compute(), numbers);
      sum.wait(host.compute());
      for (float& p : numbers) p /= static_cast<float>(rank.size());
    };
    if constexpr (Trainer::is_apart) train.for_each([&](const auto& parameter) { average(parameter.numbers); });
    else average(train.parameters());
    return loss;
  };
  return run_ranks(ranks, !ranks.first(), j, data, name, make, step);
}

struct rung {
  const char* name;
  result (*run)(ranks_of_program&, const job&, const dataset&, const char*);
};
template <class Net, class Device>
constexpr std::array<rung, 6> ladder{
    rung{"one", &one<Net, Device>},
    rung{"naive", &replicas<Net, Device, bucket_bytes<1>, after_backward>},
    rung{"buckets", &replicas<Net, Device, bucket_bytes<1_MiB>, after_backward>},
    rung{"overlap", &replicas<Net, Device, bucket_bytes<1_MiB>>},
    rung{"accumulate", &accumulate<Net, Device>},
    rung{"average", &average<Net, Device>},
};

struct size_entry {
  const char* name;
  std::size_t parameters;
  std::span<const rung> rungs;
};
template <std::size_t Layers, std::size_t Width, class Device>
constexpr size_entry make_size(const char* name) {
  using net = typename ffnet<Layers, Width>::type;
  return {name, blueprint_of<net, rows>::parameters, ladder<net, Device>};
}
template <class Device>
constexpr std::array<size_entry, 3> all_sizes{make_size<0, 10, Device>("small"), make_size<3, 100, Device>("medium"),
                                              make_size<3, 512, Device>("large")};
static_assert(all_sizes<cpu>[0].parameters == 1'021 && all_sizes<cpu>[1].parameters == 40'501);

int climb(std::span<const size_entry> sizes, const job& j, const command_line& given, int count, char** words) {
  const auto is = [](const std::string& word) { return [&word](const auto& e) { return word == "all" || word == e.name; }; };
  if (std::ranges::none_of(sizes, is(j.size)) || std::ranges::none_of(sizes[0].rungs, is(j.rung)))
    given.fail("no such --rung or --size; --help lists them");
  ranks_of_program ranks(count, words, j.ranks);
  if (ranks.first())
    std::printf("generated data: %zu pairs of 100 normal numbers and 1 normal number; batches of %zu for each rank; %s\n",
                j.samples, rows, ranks.text().c_str());
  const auto data = toy_dataset(j.samples);
  report::table results({"size", "parameters", "rung", "processes", "time", "samples/s", "loss", "weights", "momenta differ by"});
  for (const size_entry& size : sizes)
    for (const rung& r : size.rungs) {
      if (!is(j.size)(size) || !is(j.rung)(r)) continue;
      const bool alone = std::string(r.name) == "one" || std::string(r.name) == "accumulate";
      const result got = r.run(ranks, j, data, r.name);
      std::array<char, 32> loss{}, drift{};
      std::snprintf(loss.data(), loss.size(), "%.6f", got.loss);
      std::snprintf(drift.data(), drift.size(), "%.3g", got.drift);
      results.row({size.name, report::format_count(size.parameters), r.name, alone ? "1" : std::to_string(ranks.size()),
                   report::format_duration(got.seconds),
                   report::format_quantity(static_cast<double>(j.epochs * j.samples) / got.seconds), loss.data(),
                   report::format_checksum(got.weights), alone ? "-" : drift.data()});
    }
  if (ranks.first()) std::printf("\n%s", results.text().c_str());
  return 0;
}

} // namespace

int program(int count, char** words) {
  job j;
  command_line given("ffnet", "the ladder of data-parallel training");
  j.ranks.add_to(given);
  given.add("device", j.device, devices_text)
      .add("rung", j.rung, "one, naive, buckets, overlap, accumulate, average, or all")
      .add("size", j.size, "small (1,021 parameters), medium (40,501), large, or all")
      .add("epochs", j.epochs, "times that all samples are seen")
      .add("samples", j.samples, "in the data set")
      .parse(count, words);
  try {
    return on_device(j.device,
                     [&]<class Device>(std::type_identity<Device>) { return climb(all_sizes<Device>, j, given, count, words); });
  } catch (const std::exception& fault) {
    return given.failed(fault);
  }
}

} // namespace mine

int main(int count, char** words) { return mine::program(count, words); }
