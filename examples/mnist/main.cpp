// SPDX-License-Identifier: MIT
// Handwritten digits, under a checkpoint policy and on a number of ranks given on the command line. The network is a type and a
// policy is a type, so each policy is one compiled instantiation, picked from a table. A schedule for a budget of bytes is
// solved at run time and run by the same code as all others. No bit of the final weights depends on which one is picked.
//
// Ranks are threads of one process, processes that mpirun or srun has started, or one alone; the body that trains is compiled
// once for all of them (ranks.md). It is compiled once more for ranks that are GPUs, whose gradients NCCL sums (gpus.md).
//
// elements: float
// uses: ranks_of_program
// has --device cuda
// has --communicator nccl
// test: --epochs 1 --samples 512
// test: --epochs 1 --samples 256 --communicator loopback --accumulate 2
// test: --epochs 1 --samples 512 --policy all --ranks 2
// test: --epochs 1 --samples 256 --policy sqrt_n,at<3,6,8>
// test: --epochs 1 --samples 512 --budget 700KiB,1.2MiB,4194304
// test: --epochs 1 --samples 256 --policy sqrt_n --budget 1MiB --costs measured --ranks 1
// test on a GPU: --device cuda --epochs 1 --samples 512 --policy all
// test on a GPU: --device cuda --epochs 1 --samples 512 --budget 700KiB,1.2MiB --costs measured
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/report/charts.hpp>

#include "../arena_use.hpp"
#include "../command_line.hpp"
#include "../devices.hpp"
#include "../found_digits.hpp"
#include "../ranks_of_program/ranks_of_program.hpp"

#if CAIRN_WITH_NCCL
#include <cairn/comm/nccl/nccl.cuh>
#endif

namespace mine {

using namespace cairn;

namespace {

using Net = Sequential<Linear<784, 512>, ReLU, Dropout<percent<20>>, Repeat<6, Residual<Linear<512, 512>, ReLU>>,
                       Dropout<percent<20>>, Linear<512, 10>>;
constexpr std::size_t capacity = 64; // samples of one rank in one micro-batch, at most
static_assert(peak_activation_bytes<Net, capacity> < 3_MiB);
static_assert(peak_activation_bytes<checkpoint<sqrt_n, Net>, capacity> < 2_MiB);

struct job {
  std::string device = "cpu";
  std::string policy;
  std::string budget;
  std::string costs = "flops";
  ranks_of_program::told ranks;
  std::size_t threads = 0; // of each rank; 0: its share of the cores
  std::size_t epochs = 20;
  std::size_t batch = 64;     // samples of one rank in one micro-batch
  std::size_t accumulate = 1; // micro-batches in one step
  std::uint64_t seed = 1;
  double learning_rate = 0.05;
  std::string data;
  std::size_t samples = 0; // train with this many of the images only; 0: with all
  std::string picture = "mnist_schedule.svg";
  std::string curve = "mnist_curve.svg";
};

struct result {
  std::size_t planned = 0;  // bytes of the arena
  std::size_t measured = 0; // bytes of it that a step wrote
  double step_seconds = 0;  // median; where step() returns early, the time of all but the first divided by their number
  double accuracy = 0;      // on the test images
  std::uint64_t weights = 0;
  std::uint64_t steps = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class Policy, class Rank = any_rank>
using model = ddp<checkpoint<Policy, Net>, Rank, bucket_bytes<2_MiB>>;

using solved_curve = memory_curve<Net, capacity>;
using solved_step = solved_curve::step;

// What each rank does. If a solved step is given, the compiled schedule of Policy is not used. Only rank 0 knows the result; `text`
// says how many ranks there are.
template <class Policy, class Device, class Rank>
void train_rank(Rank& rank, const std::string& text, const job& j, const vision::digit_images<float>& digits,
                const solved_step& solved, result& out) {
  // Ranks and micro-batches share an epoch in the same way, so that 2 ranks see what 2 micro-batches see.
  const auto size = static_cast<std::size_t>(rank.size());
  const std::size_t readers = size * j.accumulate;
  const auto order = [&](std::size_t micro) {
    const std::size_t reader = micro * size + static_cast<std::size_t>(rank.rank());
    return sampler{reader, readers, 0, {.seed = j.seed}};
  };
  using reading = loader<vision::image_dataset<float>, sampler, capacity, vision::random_shift>;
  std::vector<std::unique_ptr<reading>> parts;
  for (std::size_t micro = 0; micro < j.accumulate; ++micro)
    parts.push_back(std::make_unique<reading>(digits.train, order(micro), batch<capacity>{},
                                              vision::random_shift{.pixels = 2, .fill = digits.train.black()},
                                              types::loader_options{.rows = j.batch, .seed = j.seed}));

  const std::size_t steps = j.epochs * parts[0]->size();
  trainer<model<Policy, Rank>, CrossEntropyLoss, SGD, batch<capacity>, float, Device> train{
      rank,
      SGD{.learning_rate = j.learning_rate, .momentum = 0.9, .weight_decay = 5e-4, .nesterov = true},
      {.seed = j.seed,
       .threads = j.threads,
       .learning_rate = cosine_rate{.learning_rate = j.learning_rate, .total_steps = steps, .warm_up = steps / 20},
       .schedule = solved}};
  if (rank.rank() == 0) {
    std::printf("%s, threads in each: %zu\n", text.c_str(), train.threads());
    std::fflush(stdout);
  }
  mark_untouched_arena(train);
  progress bar(j.epochs * parts[0]->samples() * readers, {.label = "training", .out = rank.rank() == 0 ? stderr : nullptr});
  std::vector<double> seconds;
  seconds.reserve(steps);
  auto timed_from = std::chrono::steady_clock::now();
  for (std::size_t epoch = 0; epoch < j.epochs; ++epoch) {
    std::vector<typename reading::iterator> next;
    for (auto& part : parts) next.push_back(part->begin());
    for (; next[0] != std::default_sentinel; ++next.back()) {
      const auto start = std::chrono::steady_clock::now();
      for (std::size_t micro = 0; micro + 1 < j.accumulate; ++micro, ++next[micro - 1])
        train.accumulate(next[micro]->inputs, next[micro]->targets);
      const auto& [images, labels] = *next.back();
      const auto loss = train.step(images, labels);
      seconds.push_back(seconds_since(start));
      if (train.steps() == 1) {
        if (rank.rank() == 0) out.measured = used_bytes_of_arena(train);
        if (steps > 1) timed_from = std::chrono::steady_clock::now(); // the first is not timed
      }
      bar.advance(images.rows() * readers, {{"loss", loss}, {"epoch", static_cast<double>(epoch + 1)}});
    }
  }
  bar.finish();
  train.wait();
  const double whole = seconds_since(timed_from);
  if (rank.rank() != 0) return;
  out.planned = train.arena_bytes();
  std::ranges::sort(seconds);
  out.step_seconds = seconds.empty() ? 0 : seconds[seconds.size() / 2];
  if (train.is_apart) out.step_seconds = whole / static_cast<double>(std::max<std::size_t>(steps, 2) - 1);
  out.accuracy = accuracy(train, loader{digits.test, sequential_sampler{}, batch<capacity>{}});
  out.weights = train.checksum();
  out.steps = train.steps();
}

template <class Policy, class Device>
result run(ranks_of_program& ranks, const job& j, const vision::digit_images<float>& digits, const solved_step& solved) {
  result out;
  ranks.run([&](any_rank& rank) { train_rank<Policy, Device>(rank, ranks.text(), j, digits, solved, out); });
  return out;
}

// A schedule for the picture: that of a policy, or a solved one.
template <class Plan>
report::picture_panel panel_of(std::string name, const auto& training, std::span<const std::size_t> live) {
  static const auto leaving = report::departures<model<store_all>, batch<capacity>>();
  return {std::move(name), Plan::whole, training.ops(), live, leaving};
}
template <class Policy>
report::picture_panel panel(const char* name) {
  using plan = blueprint_of<checkpoint<Policy, Net>, capacity>;
  return panel_of<plan>(name, plan::training, plan::trained::memory.live);
}

// One row of the table: a name on the command line, and its instantiation.
struct entry {
  const char* name;
  result (*run)(ranks_of_program&, const job&, const vision::digit_images<float>&, const solved_step&);
  report::picture_panel (*panel)(const char*);
  report::network_summary (*summary)();
};
template <class Policy, class Device>
constexpr entry make(const char* name) {
  return {name, &run<Policy, Device>, &panel<Policy>, &summary<model<Policy>, capacity>};
}
template <class Device>
constexpr std::array<entry, 8> table_of_policies{
    make<store_all, Device>("store_all"),   make<recompute_all, Device>("recompute_all"),
    make<sqrt_n, Device>("sqrt_n"),         make<every<2>, Device>("every<2>"),
    make<every<4>, Device>("every<4>"),     make<at<3, 6, 8>, Device>("at<3,6,8>"),
    make<revolve<3>, Device>("revolve<3>"), make<recompute_cheap, Device>("recompute_cheap"),
};

vision::digit_images<float> first_of(vision::digit_images<float> digits, std::size_t count) {
  const auto& all = digits.train;
  if (count == 0 || count >= all.size()) return digits;
  const std::size_t pixels = count * all.sample_shape().size();
  digits.train = {all.sample_shape(),
                  {all.pixels().begin(), all.pixels().begin() + static_cast<std::ptrdiff_t>(pixels)},
                  {all.labels().begin(), all.labels().begin() + static_cast<std::ptrdiff_t>(count)},
                  vision::mnist_scale};
  return digits;
}

// The words of a list, in which a word may have commas of its own: "sqrt_n,at<3,6,8>" has two words.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words(1);
  int depth = 0;
  for (const char c : list) {
    depth += c == '<' ? 1 : c == '>' ? -1 : 0;
    if (c == ',' && depth == 0) words.emplace_back();
    else words.back() += c;
  }
  return words;
}

std::vector<entry> chosen_by(const job& j, const command_line& given, std::span<const entry> table) {
  std::vector<entry> chosen;
  if (j.policy.empty() && !j.budget.empty()) return chosen;
  for (const std::string& word : split(j.policy.empty() ? "sqrt_n" : j.policy)) {
    const std::size_t before = chosen.size();
    std::string names;
    for (const entry& e : table) {
      const std::string name = e.name;
      const bool family = name.substr(0, name.find('<')) == word && chosen.size() == before; // the first "every"
      if (word == name || word == "all" || family) chosen.push_back(e);
      names += std::string(names.empty() ? "" : ", ") + e.name;
    }
    if (chosen.size() == before)
      given.fail("--policy cannot be " + word + ": it is one of " + names + ", several with commas between them, or all");
  }
  return chosen;
}

// The costs of stages on the device, measured by the first process alone: all processes must solve for the same schedule, and
// processes that share a device would disturb each other.
template <class Device>
std::vector<plan::stage_cost> costs_of_rank_0(ranks_of_program& ranks) {
  std::vector<plan::stage_cost> costs(blueprint_of<Net, capacity>::size);
  if (ranks.first()) costs = plan::measured_costs<Net, capacity, float, Device>();
  ranks.run([&](any_rank& rank) {
    cpu host;
    std::vector<plan::stage_cost> received = costs;
    auto sent = rank.broadcast(host.compute(), std::as_writable_bytes(std::span(received)), 0);
    sent.wait(host.compute());
    if (ranks.here().rank == rank.rank() && rank.rank() != 0) costs = received; // ranks as threads have those of rank 0
  });
  return costs;
}

// The budgets of the command line, and a schedule for each from one solve.
struct solved_budgets {
  std::vector<std::size_t> bytes;
  std::optional<solved_curve> curve; // empty without budgets
  std::vector<solved_step> steps;

  template <class Device>
  solved_budgets(std::type_identity<Device>, const job& j, ranks_of_program& ranks) {
    if (j.budget.empty()) return;
    for (const std::string& word : split(j.budget)) bytes.push_back(report::parse_bytes(word));
    if (j.costs == "measured") curve.emplace(costs_of_rank_0<Device>(ranks));
    else curve.emplace();
    for (const std::size_t most : bytes) steps.push_back(curve->within(most));
  }

  static std::string name_of(std::size_t most) { return "budget " + report::format_bytes(most); }
};

void draw_schedules_of(const job& j, const std::vector<entry>& chosen, const solved_budgets& solved) {
  using plan = blueprint_of<Net, capacity>;
  std::vector<report::picture_panel> panels;
  for (const entry& e : chosen) panels.push_back(e.panel(e.name));
  for (std::size_t i = 0; i < solved.steps.size(); ++i) {
    const auto& own = solved.steps[i].plan;
    panels.push_back(
        panel_of<plan>(solved.name_of(solved.bytes[i]), own.training, {own.memory.live.data(), own.memory.live.size()}));
    panels.back().budget = solved.bytes[i];
  }
  report::write_svg(j.picture, report::draw_schedules(panels, {.title = "One training step of examples/mnist",
                                                               .stage_names = report::stage_names<plan>(),
                                                               .store_all_peak = plan::trained::memory.arena,
                                                               .columns = panels.size() > 1 ? std::size_t{2} : std::size_t{1}}));
  std::printf("the schedule is drawn in %s\n", j.picture.c_str());
}

void draw_curve_of(const job& j, const solved_budgets& solved) {
  report::write_svg(j.curve,
                    report::draw_curve<store_all, sqrt_n, every<2>, every<4>, revolve<3>, recompute_cheap>(
                        *solved.curve, solved.bytes,
                        {.title = "Time against memory, examples/mnist",
                         .subtitle = "batch " + std::to_string(capacity) + ", times from " +
                                     (j.costs == "measured" ? "each stage as measured here" : "the FLOPs of each stage")}));
  std::printf("time against memory is drawn in %s\n", j.curve.c_str());
}

report::table table_of_results() {
  return report::table({"policy", "ranks", "micro-batches", "peak planned", "peak measured", "step", "test accuracy", "weights"});
}
void add(report::table& results, const std::string& name, int ranks, const job& j, const result& r) {
  std::array<char, 16> percent{};
  std::snprintf(percent.data(), percent.size(), "%.2f %%", 100 * r.accuracy);
  results.row({name, std::to_string(ranks), std::to_string(j.accumulate), report::format_bytes(r.planned),
               report::format_bytes(r.measured), report::format_duration(r.step_seconds), percent.data(),
               report::format_checksum(r.weights)});
}

// Ranks that are GPUs: threads of one process, or processes of a launcher.
#if CAIRN_WITH_NCCL
int train_by_nccl(const job& j, int count, char** words) {
  const launch here = launch::of_process(count, words);
  const auto digits = first_of(found_digits(j.data, here.rank == 0 ? stdout : nullptr), j.samples);
  result all;
  int ranks = 0;
  const auto body = [&](nccl::rank& rank) {
    result own;
    const std::string text = std::to_string(rank.size()) + " ranks by " + std::string(rank.called());
    train_rank<sqrt_n, cuda>(rank, text, j, digits, {}, own);
    if (rank.rank() != 0) return;
    all = own;
    ranks = rank.size();
  };
  nccl::options how;
  if (j.ranks.ranks > 0) how.ranks = j.ranks.ranks;
  if (here.size == 1 || !here.address.empty()) {
    nccl{how}.run(body);
  } else {
    ranks_of_program processes(count, words, {.communicator = "mpi"});
    nccl{how}.run(processes, body);
  }
  if (here.rank != 0) return 0;
  report::table results = table_of_results();
  add(results, "sqrt_n", ranks, j, all);
  std::printf("\n%s\n", results.text().c_str());
  return 0;
}
#else
int train_by_nccl(const job&, int, char**) {
  throw input_error("--communicator cannot be nccl, as this program was built without it: build it with nvcc, where CMake finds "
                    "cairn::nccl");
}
#endif

// Every process trains, and the first one speaks and draws for all.
template <class Device>
int train_chosen(const job& j, const command_line& given, int count, char** words) {
  const std::vector<entry> chosen = chosen_by(j, given, table_of_policies<Device>);
  if (j.accumulate < 1 || j.batch < 1 || j.batch > capacity)
    given.fail("--accumulate is at least 1, --batch is 1 to " + std::to_string(capacity));
  if (j.costs != "flops" && j.costs != "measured") given.fail("--costs are flops or measured, not " + j.costs);
  // Work that may fail in one process alone is done before the processes are joined, so that none of the others waits.
  const bool first = launch::of_process(count, words).rank == 0;
  const auto digits = first_of(found_digits(j.data, first ? stdout : nullptr), j.samples);
  ranks_of_program ranks(count, words, j.ranks);
  const solved_budgets solved(std::type_identity<Device>{}, j, ranks);

  using plan = blueprint_of<Net, capacity>;
  if (ranks.first()) {
    std::printf("network: %zu stages, %s parameters; %zu images to train, %zu to test; %d ranks x %zu micro-batches of %zu\n",
                plan::size, report::format_count(plan::parameters).c_str(), digits.train.size(), digits.test.size(), ranks.size(),
                j.accumulate, j.batch);
    if (chosen.size() == 1) std::printf("\n%s\n", chosen[0].summary().text().c_str());
  }
  report::table results = table_of_results();
  const auto train = [&](const std::string& name, auto* how, const solved_step& step) {
    if (ranks.first()) std::printf("policy %s, ", name.c_str());
    add(results, name, ranks.size(), j, how(ranks, j, digits, step));
  };
  for (const entry& e : chosen) train(e.name, e.run, {});
  for (std::size_t i = 0; i < solved.steps.size(); ++i)
    train(solved.name_of(solved.bytes[i]), &run<store_all, Device>, solved.steps[i]);
  if (!ranks.first()) return 0;
  std::printf("\n%s\n", results.text().c_str());

  draw_schedules_of(j, chosen, solved);
  if (solved.curve) draw_curve_of(j, solved);
  return 0;
}

} // namespace

int program(int count, char** words) {
  job j;
  command_line given("mnist", "trains a residual network on handwritten digits");
  j.ranks.add_to(given);
  given.add("device", j.device, devices_text)
      .add("policy", j.policy,
           "checkpoint policy, several as sqrt_n,revolve<3>, or all; each trains anew [sqrt_n, without "
           "--budget]")
      .add("budget", j.budget, "most bytes of a step, such as 900KiB or 700KiB,1.2MiB: its schedule is solved now")
      .add("costs", j.costs, "what a schedule for a budget costs: flops, or measured on the device")
      .add("curve", j.curve, "file for the picture of time against memory, drawn with --budget")
      .add("threads", j.threads, "threads inside one operation of a rank, 0 for its share of the cores")
      .add("epochs", j.epochs, "times that all images are seen")
      .add("batch", j.batch, "samples of one rank in one micro-batch")
      .add("accumulate", j.accumulate, "micro-batches in one step")
      .add("seed", j.seed, "of weights, order and dropout")
      .add("rate", j.learning_rate, "learning rate after the warm-up")
      .add("data", j.data, "folder with MNIST's four files (else $CAIRN_DATA/mnist, else generated digits)")
      .add("samples", j.samples, "train with so many images only, 0 for all")
      .add("picture", j.picture, "file for the picture of the schedule")
      .parse(count, words);
  try {
    const bool by_nccl = j.ranks.communicator == "nccl";
    if (by_nccl && (j.device != "cuda" || !j.budget.empty() || (!j.policy.empty() && j.policy != "sqrt_n")))
      given.fail("--communicator nccl is for --device cuda and --policy sqrt_n, the one that this program compiles for it");
    return on_device(j.device, [&]<class Device>(std::type_identity<Device>) {
      return by_nccl ? train_by_nccl(j, count, words) : train_chosen<Device>(j, given, count, words);
    });
  } catch (const std::exception& fault) {
    return given.failed(fault);
  }
}

} // namespace mine

int main(int count, char** words) { return mine::program(count, words); }
