// SPDX-License-Identifier: MIT
#include "image_training.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/data/compose.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/random_crop.hpp>
#include <cairn/data/random_horizontal_flip.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/metrics_picture.hpp>
#include <cairn/report/progress.hpp>
#include <cairn/report/svg.hpp>
#include <cairn/report/table.hpp>
#include <cairn/train/fit/accuracy.hpp>

#include "../command_line.hpp"
#include "../found_pictures.hpp"
#include "../ranks_of_program/ranks_of_program.hpp"

using namespace cairn;

namespace image_training {

namespace {

struct job {
  std::string device = "cpu", network, policy;
  ranks_of_program::told ranks;
  std::size_t threads = 0; // of each rank; 0: its share of the cores
  std::size_t epochs = 0;
  std::size_t batch = 0;   // samples of one rank in a step
  std::size_t samples = 0; // train with this many of the pictures only; 0: with all
  std::size_t test = 0;    // likewise
  std::size_t table = 0;   // steps of each row of the table; 0: train
  std::uint64_t seed = 1;
  double learning_rate = 0.1;
  std::string data, curve;
};

// The learning rate of both papers: a tenth from half of the steps on, a hundredth from three quarters on. Any type with such
// an at() is a schedule.
struct tenth_twice {
  double learning_rate = 0.1;
  std::uint64_t total_steps = 1;

  double at(std::uint64_t step) const {
    if (2 * step < total_steps) return learning_rate;
    return 4 * step < 3 * total_steps ? learning_rate / 10 : learning_rate / 100;
  }
};

using pictures = vision::cifar_images<float>;
using transforms = compose<vision::random_crop, vision::random_horizontal_flip>;
using steady = std::chrono::steady_clock;

double seconds_since(steady::time_point start) { return std::chrono::duration<double>(steady::now() - start).count(); }

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

// The trainer of one rank, with its data.
struct training_rank {
  any_rank& rank;
  // The loader's thread crops, mirrors and normalises pictures while the previous step runs.
  loader<vision::image_dataset<float>, sampler, capacity, transforms> batches;
  std::unique_ptr<any_trainer> train;
  std::vector<double> seconds{}; // of each step

  training_rank(any_rank& here, const policy& how, const job& j, const recipe& given, const pictures& data)
      : rank(here),
        batches(data.train, sampler{here, 0, {.seed = j.seed}}, batch<capacity>{},
                transforms{vision::random_crop{.padding = 4, .fill = data.train.black()}, vision::random_horizontal_flip{}},
                types::loader_options{.rows = j.batch, .seed = j.seed}) {
    SGD optimizer = given.optimizer;
    optimizer.learning_rate = j.learning_rate;
    train = how.make(here, {.device = j.device,
                            .optimizer = optimizer,
                            .seed = j.seed,
                            .threads = j.threads,
                            .learning_rate = tenth_twice{j.learning_rate, j.epochs * batches.size()}});
    train->mark_arena();
  }

  bool first() const { return rank.rank() == 0; }
  double step(const any_trainer::images& images, const any_trainer::labels& labels) {
    const auto start = steady::now();
    const double loss = train->step(images, labels);
    seconds.push_back(seconds_since(start));
    return loss;
  }
  // The share of the test pictures that the network classifies correctly. Every rank evaluates a part of them, with the running
  // statistics of rank 0.
  double test(const pictures& data) {
    train->synchronize();
    loader all{data.test, sampler{rank, 0, {.shuffle = false}}, batch<capacity>{}};
    double right = 0;
    for (const auto& [images, labels] : all)
      right += accuracy(train->evaluate(images), labels) * static_cast<double>(images.rows());
    auto share = static_cast<float>(right / static_cast<double>(all.samples()));
    cpu device;
    auto sum = rank.all_reduce(device.compute(), std::span(&share, 1));
    sum.wait(device.compute());
    return static_cast<double>(share) / rank.size();
  }
};

// The result of training under one policy, as rank 0 knows it.
struct result {
  std::size_t measured = 0; // bytes of the arena that a step wrote
  double step_seconds = 0;  // median
  double seconds = 0;       // of everything, evaluations too
  double loss = 0;          // mean of the steps of the last epoch
  double accuracy = 0;
  std::uint64_t weights = 0;
};

result train_with(const policy& how, ranks_of_program& ranks, const job& j, const recipe& given, const pictures& data,
                  report::recorded_metrics& curve) {
  result out;
  const auto begin = steady::now();
  ranks.run([&](any_rank& rank) {
    training_rank t(rank, how, j, given, data);
    const auto size = static_cast<std::size_t>(rank.size());
    if (t.first()) std::printf("policy %s, %s, threads in each: %zu\n", how.name, ranks.text().c_str(), t.train->threads());
    if (t.first()) std::fflush(stdout);
    progress bar(j.epochs * t.batches.samples() * size, {.label = how.name, .out = t.first() ? stderr : nullptr});
    double right = 0;
    for (std::size_t epoch = 0; epoch < j.epochs; ++epoch) {
      double losses = 0;
      for (const auto& [images, labels] : t.batches) {
        const double loss = t.step(images, labels), number = static_cast<double>(epoch + 1);
        losses += loss;
        if (epoch == 0) bar.advance(images.rows() * size, {{"loss", loss}, {"epoch", number}});
        else bar.advance(images.rows() * size, {{"loss", loss}, {"epoch", number}, {"test accuracy", right}});
        if (!t.first()) continue;
        curve.add(t.seconds.size(), "train_loss", loss);
        if (t.seconds.size() == 1) out.measured = t.train->used_bytes();
      }
      right = t.test(data);
      if (t.first()) out.loss = losses / static_cast<double>(t.batches.size());
      if (t.first()) curve.add(t.seconds.size(), "test_accuracy", right, true);
    }
    bar.finish();
    if (!t.first()) return;
    out.accuracy = right;
    out.step_seconds = median(t.seconds);
    out.weights = t.train->checksum();
  });
  out.seconds = seconds_since(begin);
  return out;
}

template <class Named>
std::string list_of(std::span<const Named> all) {
  std::string names;
  for (const Named& one : all) names += std::string(names.empty() ? "" : ", ") + one.name;
  return names;
}

network network_by(const std::string& name, const recipe& given, const command_line& said) {
  for (const network& n : given.networks)
    if (name.empty() || name == n.name) return n;
  said.fail("--network cannot be " + name + ": it is one of " + list_of(given.networks));
}

std::vector<policy> policies_by(const job& j, const network& net, const command_line& said) {
  std::vector<policy> chosen;
  for (const policy& p : net.policies) {
    const bool all = j.policy == "all" || (j.policy.empty() && j.table > 0);
    if (all || j.policy == p.name || (j.policy.empty() && chosen.empty())) chosen.push_back(p);
  }
  if (chosen.empty()) said.fail("--policy cannot be " + j.policy + ": it is one of " + list_of(net.policies) + ", or all");
  return chosen;
}

std::string ratio(double a, double b) { return report::format_fixed(a / b, 2); }

// The table that made the efficient DenseNet known: the time that saving memory costs.
void write_table(const std::vector<policy>& chosen, ranks_of_program& ranks, const job& j, const recipe& given,
                 const pictures& data) {
  const policy& plain = chosen[0];
  ranks_of_program alone;
  std::vector<ranks_of_program*> jobs{&alone};
  if (ranks.size() > 1) jobs.push_back(&ranks);
  std::vector<std::string> header{"policy", "activations", "of " + std::string(plain.name), "FLOPs"};
  for (const ranks_of_program* r : jobs) {
    header.push_back("step, " + std::to_string(r->size()) + (r->size() == 1 ? " rank" : " ranks"));
    header.push_back("ratio");
  }
  report::table rows(header);
  std::vector<double> first(jobs.size());
  for (const policy& p : chosen) {
    std::vector<std::string> row{p.name, report::format_bytes(p.peak),
                                 ratio(static_cast<double>(p.peak), static_cast<double>(plain.peak)),
                                 ratio(static_cast<double>(p.flops), static_cast<double>(plain.flops))};
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      double seconds = 0;
      jobs[i]->run([&](any_rank& rank) {
        training_rank t(rank, p, j, given, data);
        progress bar(j.table + 1, {.label = std::string(p.name) + ", ranks: " + std::to_string(rank.size()),
                                   .unit = "steps",
                                   .out = t.first() && ranks.first() ? stderr : nullptr});
        while (t.seconds.size() <= j.table)
          for (const auto& [images, labels] : t.batches) {
            bar.advance(1, {{"loss", t.step(images, labels)}});
            if (t.seconds.size() > j.table) break;
          }
        bar.finish();
        if (t.first()) seconds = median({t.seconds.begin() + 1, t.seconds.end()}); // without the first, which is slower
      });
      if (first[i] == 0) first[i] = seconds;
      row.push_back(report::format_duration(seconds));
      row.push_back(ratio(seconds, first[i]));
    }
    rows.row(row);
  }
  if (ranks.first()) std::printf("\n%s\n", rows.text().c_str());
}

vision::image_dataset<float> first_of(const vision::image_dataset<float>& all, std::size_t count) {
  if (count == 0 || count >= all.size()) return all;
  const auto pixels = static_cast<std::ptrdiff_t>(count * all.sample_shape().size());
  return {all.sample_shape(),
          {all.pixels().begin(), all.pixels().begin() + pixels},
          {all.labels().begin(), all.labels().begin() + static_cast<std::ptrdiff_t>(count)},
          vision::cifar10_scale};
}

int train_chosen(const recipe& given, const job& j, const command_line& said, int count, char** words) {
  given.devices.check(j.device);
  const network net = network_by(j.network, given, said);
  const auto chosen = policies_by(j, net, said);
  if (j.batch < 1 || j.batch > capacity) said.fail("--batch is 1 to " + std::to_string(capacity));
  // Work that may fail in one process alone is done before the processes are joined, so that none of the others waits.
  const bool speaks = launch::of_process(count, words).rank == 0;
  generated_options drawn;
  if (j.samples > 0) drawn.train = j.samples;
  if (j.test > 0) drawn.test = j.test;
  const pictures all = found_pictures(j.data, speaks ? stdout : nullptr, drawn);
  const pictures data{first_of(all.train, j.samples), first_of(all.test, j.test)};
  ranks_of_program ranks(count, words, j.ranks);
  if (ranks.first())
    std::printf("%s: %zu stages, %s parameters; %zu pictures to train with, %zu to test with; %d ranks x %zu in a step\n",
                net.name, chosen[0].stages, report::format_count(chosen[0].parameters).c_str(), data.train.size(),
                data.test.size(), ranks.size(), j.batch);
  if (j.table > 0) {
    write_table(chosen, ranks, j, given, data);
    return 0;
  }
  report::recorded_metrics curve;
  report::table results({"policy", "ranks", "peak planned", "peak measured", "step", "time", "loss", "test accuracy", "weights"});
  for (const policy& p : chosen) {
    report::recorded_metrics own; // the same for every policy
    const result r = train_with(p, ranks, j, given, data, own);
    results.row({p.name, std::to_string(ranks.size()), report::format_bytes(p.peak), report::format_bytes(r.measured),
                 report::format_duration(r.step_seconds), report::format_duration(r.seconds), report::format_fixed(r.loss, 5),
                 report::format_fixed(100 * r.accuracy, 2) + " %", report::format_checksum(r.weights)});
    curve = std::move(own);
  }
  if (!ranks.first()) return 0;
  std::printf("\n%s\n", results.text().c_str());
  report::write_svg(j.curve, report::draw_metrics(curve, net.name));
  std::printf("loss and accuracy are drawn in %s\n", j.curve.c_str());
  return 0;
}

} // namespace

int run(const recipe& given, int count, char** words) {
  job j;
  j.epochs = given.epochs;
  j.batch = given.batch;
  j.learning_rate = given.optimizer.learning_rate;
  j.curve = std::string(given.program) + "_curve.svg";
  command_line said(given.program, given.purpose);
  j.ranks.add_to(said);
  if (given.networks.size() > 1) said.add("network", j.network, list_of(given.networks) + " [" + given.networks[0].name + "]");
  said.add("device", j.device, given.devices.text);
  said.add("policy", j.policy,
           "what is stored: " + list_of(given.networks[0].policies) + ", or all: each trains anew [" +
               given.networks[0].policies[0].name + "]")
      .add("threads", j.threads, "threads inside one operation of a rank, 0 for its share of the cores")
      .add("epochs", j.epochs, "times that all pictures are seen")
      .add("batch", j.batch, "pictures of one rank in a step")
      .add("rate", j.learning_rate, "learning rate; a tenth from half of the steps on, a hundredth from three quarters on")
      .add("seed", j.seed, "of weights, order and transforms")
      .add("data", j.data, "folder with CIFAR-10's binary files (else $CAIRN_DATA/cifar10, else generated pictures)")
      .add("samples", j.samples, "train with so many pictures only, 0 for all")
      .add("test", j.test, "test with so many pictures only, 0 for all")
      .add("table", j.table, "instead of a training: memory and time of all policies, from so many steps of each")
      .add("curve", j.curve, "file for the picture of loss and accuracy")
      .parse(count, words);
  try {
    return train_chosen(given, j, said, count, words);
  } catch (const std::exception& fault) {
    return said.failed(fault);
  }
}

} // namespace image_training
