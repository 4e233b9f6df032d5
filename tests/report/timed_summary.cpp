// SPDX-License-Identifier: MIT
// long to compile
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/report/timed_summary.hpp>
#include <doctest/doctest.h>

#include "../train/apart_program.hpp"
#include "../train/training.hpp"
#include "ticking.hpp"

namespace timed_summary_tests {

using namespace cairn;
using namespace testing;

namespace {

constexpr report::timing_options few{.steps = 3, .warm_up = 1};

template <class Model, class T = float, class Device = cpu>
using trained = trainer<Model, CrossEntropyLoss, SGD, batch<8>, T, Device>;

// Checks what holds for every measurement.
template <class Trainer>
void check_rows(const report::step_times& times, Trainer& train) {
  std::vector<std::size_t> indices;
  std::size_t parameters = 0, all_parameters = 0;
  for (const report::layer_times& l : times.layers) {
    indices.push_back(l.index);
    parameters += l.parameters;
    CHECK(!l.layer.empty());
    CHECK(l.output.starts_with("(8, "));
  }
  std::sort(indices.begin(), indices.end());
  for (std::size_t i = 0; i < indices.size(); ++i) CHECK(indices[i] == i);
  std::size_t leaves = 0;
  for (const plan::stage& s : Trainer::plan::stages) leaves += s.leaves;
  CHECK(indices.size() == leaves);
  train.for_each([&](const auto& q) {
    all_parameters += q.numbers.size();
    const auto at = std::find_if(times.layers.begin(), times.layers.end(), [&](const auto& l) { return l.index == q.leaf; });
    REQUIRE(at != times.layers.end());
    CHECK(q.name.starts_with(at->path + "."));
  });
  CHECK(parameters == all_parameters);
  CHECK(std::is_sorted(times.layers.begin(), times.layers.end(),
                       [](const report::layer_times& a, const report::layer_times& b) { return a.seconds() > b.seconds(); }));
}

// Checks that a trainer that is measured between two steps goes on like one that is not.
template <class Trainer, class... Rank>
void check_undisturbed(Rank&... rank) {
  typename Trainer::options given{.seed = 4};
  if constexpr (!Trainer::fused) given.clip.max_norm = 0.5;
  Trainer measured{rank..., momentum, given}, other{rank..., momentum, given};
  apart::seen seen[2];
  for (const bool measures : {true, false}) {
    Trainer& t = measures ? measured : other;
    apart::seen& out = seen[measures ? 1 : 0];
    for (std::uint32_t step = 0; step < 4; ++step) {
      const samples<> s(8, step);
      if (step == 2) {
        t.request_stop();
        if constexpr (!Trainer::fused) t.accumulate(s.x, s.y);
        if (measures) check_rows(timed_summary(t, s.x, s.y, few), t);
      }
      out.add(double{t.step(s.x, s.y)});
      t.wait();
      out.add(t.steps());
      out.add(t.gradient_norm());
      out.add(std::uint64_t{t.stop_requested() ? 1U : 0U});
      out.add(t.checksum());
      t.for_each_buffer([&](const auto& q) { out.add_all(q.numbers); });
      t.for_each_optimizer_state([&](std::size_t, const auto& q) { out.add_all(q.numbers); });
    }
  }
  CHECK(seen[0] == seen[1]);
}

} // namespace

TEST_CASE("timed_summary: training goes on as if it had not been, with every policy, type and device") {
  check_undisturbed<trained<checkpoint<sqrt_n, apart::Net>>>();
  check_undisturbed<trained<fused_update<Net>>>();
  check_undisturbed<trained<apart::Net, bfloat16>>();
  check_undisturbed<trained<apart::Net, float, apart::device>>();
}

TEST_CASE("timed_summary: every rank makes the call, and training goes on") {
  threads{2}.run([](threads::rank& rank) {
    check_undisturbed<trained<ddp<apart::Net, threads::rank, bucket_bytes<1024>, sync_batch_norm>>>(rank);
    using Small = Sequential<Linear<10, 16>, ReLU, Linear<16, 4>>;
    trained<ddp<Small, threads::rank>> train{rank, SGD{}};
    const samples<> s(8, 0);
    const report::step_times times = timed_summary(train, s.x, s.y, few);
    CHECK(times.rank == rank.rank());
    CHECK(times.ranks == 2);
    CHECK(times.gradients > 0);
    CHECK(has(times.text(), "on rank " + std::to_string(rank.rank()) + " of 2"));
    CHECK(has(times.text(), "gradients of all ranks"));
    // The call is refused on both ranks, and both go on.
    const std::string text = text_of([&] { timed_summary(train, s.x, s.y, {.steps = rank.rank() == 0 ? 3U : 2U}); });
    CHECK(has(text, "expected the same steps and warm_up on every rank, found 3 and 3 on rank 0, 2 and 3 on rank 1"));
    train.step(s.x, s.y);
    CHECK(train.steps() == 1);
  });
}

TEST_CASE("timed_summary: what a step that fails throws comes out, and the trainer is as it was") {
  trained<Net> train{momentum}, other{momentum};
  samples<> s(8, 0);
  train.step(s.x, s.y);
  other.step(s.x, s.y);
  const samples<> wrong(9, 0);
  CHECK(has(text_of([&] { timed_summary(train, wrong.x, wrong.y, few); }), "expected at most 8 samples"));
  CHECK(has(text_of([&] { timed_summary(train, s.x, s.y, {.steps = 0}); }), "expected at least 1 step to measure, found 0"));
  CHECK(train.learning_rate() == momentum.learning_rate);
  train.step(s.x, s.y);
  other.step(s.x, s.y);
  CHECK(train.checksum() == other.checksum());
}

TEST_CASE("timed_summary: the parts of a step are its whole, by a clock that only counts") {
  using Model = checkpoint<sqrt_n, Sequential<Linear<10, 16>, LayerNorm<16>, Linear<16, 16>, LayerNorm<16>, Linear<16, 4>>>;
  using type = trained<Model, float, ticking>;
  type train{SGD{}};
  const samples<> s(8, 0);
  const auto measure = [&](const report::timing_options& options) {
    return timed_summary<type, std::vector<float>, std::vector<int>, ticking_clock>(train, s.x, s.y, options);
  };
  for (const report::timing_options& options : {few, report::timing_options{.steps = 4, .warm_up = 0}}) {
    const report::step_times times = measure(options);
    check_rows(times, train);
    const auto is = [](double seconds, double microseconds) {
      return seconds > 1e-6 * microseconds - 1e-12 && seconds < 1e-6 * microseconds + 1e-12;
    };
    std::size_t recomputed = 0;
    for (const report::layer_times& l : times.layers) {
      CHECK(is(l.forward, 1));
      CHECK(is(l.backward, 1));
      CHECK((l.recompute == 0 || is(l.recompute, 1)));
      recomputed += l.recompute > 0 ? 1 : 0;
      CHECK(l.flops > 0);
      CHECK(l.flops_per_second() == static_cast<double>(l.flops) / l.seconds());
    }
    CHECK(recomputed > 0);
    CHECK(times.layers.front().recompute > 0); // the slowest layer
    CHECK(is(times.of_layers(), static_cast<double>(10 + recomputed)));
    CHECK(is(times.loss, 1));
    CHECK(is(times.update, 1));
    CHECK(times.gradients == 0);
    CHECK(is(times.step, 1000));
    CHECK(is(times.unwatched, 1000));
    CHECK(is(times.rest, 1000 - 12 - static_cast<double>(recomputed)));
    CHECK(is(times.interruptions(), 0));
    CHECK(times.steps == options.steps);
    CHECK(times.samples == 8);
  }
  CHECK(train.steps() == 0);
}

TEST_CASE("timed_summary: a table that fits a terminal, and the slowest layers alone") {
  trained<checkpoint<sqrt_n, Net>> train{SGD{}};
  const samples<> s(5, 0);
  const report::step_times times = timed_summary(train, s.x, s.y, few);
  const auto lines_of = [](const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  };
  const std::vector<std::string> lines = lines_of(times.text());
  for (const std::string& line : lines) CHECK(line.size() <= 100);
  REQUIRE(lines.size() == times.layers.size() + 17);
  CHECK(lines[0] == "a step of 5 samples of float, microseconds, medians of 3 steps");
  for (const char* column : {"layer", "output", "parameters", "forward", "recompute", "backward", "%", "GFLOP/s"})
    CHECK(has(lines[2], column));
  for (std::size_t i = 0; i < times.layers.size(); ++i) {
    CHECK(has(lines[4 + i], times.layers[i].path + "  " + times.layers[i].layer));
    CHECK(has(lines[4 + i], "(5, "));
  }
  CHECK(has(lines[5 + times.layers.size()], "all layers"));

  const std::vector<std::string> two = lines_of(times.text(2));
  CHECK(two.size() == lines.size() - times.layers.size() + 3);
  CHECK(has(two[5], times.layers[1].layer));
  CHECK(has(two[6], std::to_string(times.layers.size() - 2) + " others"));
  CHECK(has(two[8], "all layers"));
  const auto words_of = [](const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> out;
    for (std::string word; in >> word;) out.push_back(word);
    return out;
  };
  CHECK(words_of(two[8]) == words_of(lines[5 + times.layers.size()]));
  CHECK(times.text(times.layers.size() - 1) == times.text()); // one would take the room of "1 others"
  CHECK(has(times.markdown(), "| GFLOP/s |"));
}

TEST_CASE("timed_summary: long names give way, and long times are milliseconds") {
  report::step_times times{
      .loss = 0.01, .update = 0.09, .rest = 0.1, .step = 12.5, .unwatched = 12.4, .samples = 64, .steps = 20, .element = "float"};
  times.layers.push_back({.path = "12.0",
                          .layer = "Conv2d<1024, 2048, 3, padding<1>, stride<2>, dilation<2>, groups<8>>",
                          .output = "(64, 16, 16, 2048)",
                          .parameters = 123'456'789,
                          .forward = 4,
                          .recompute = 4,
                          .backward = 4.2,
                          .flops = 1'000'000'000'000});
  const auto check_width = [&] {
    std::istringstream in(times.text());
    for (std::string line; std::getline(in, line);) CHECK(line.size() <= 100);
  };
  check_width();
  CHECK(std::abs(times.interruptions() - 0.1) < 1e-9);
  CHECK(has(times.text(), "milliseconds"));
  CHECK(has(times.text(), "4200"));
  CHECK(has(times.text(), "Conv2d<"));
  CHECK(has(times.text(), "...  (64, 16, 16, 2048)"));
  CHECK(has(times.text(), "97.6"));
  times.layers.push_back({.path = "5.denselayer1", .layer = "dense_growth<12>", .output = "(64, 16, 16, 12) (12, 2)"});
  times.layers[0].parameters = 5280;
  times.layers[0].output = "(64, 16, 16, 48)";
  check_width();
  CHECK(has(times.text(), "dense_g...  (64, 16, 16, 12)  "));
  CHECK(times.layers[1].output == "(64, 16, 16, 12) (12, 2)");
}

} // namespace timed_summary_tests
