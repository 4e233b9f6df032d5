// SPDX-License-Identifier: MIT
// Tests of times by a GPU's clock, on the fake runtime, which computes them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/report/step_trace.hpp>
#include <cairn/train/measured_costs.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/predicted_step.hpp>
#include <doctest/doctest.h>

#include "fake/fake.hpp"
#include "network.hpp"

namespace cuda_times_tests {

using namespace cairn;

namespace {

constexpr std::size_t rows = 8;
using Deep = Sequential<Linear<12, 256>, Tanh, Linear<256, 16>, Tanh, Linear<16, 16>, Tanh, Linear<16, 5>>;
// Tanh has fewer FLOPs than LayerNorm, and three of them in a block take longer.
using Slow = Residual<Tanh, Tanh, Tanh>;
using Mixed = Sequential<Linear<12, 64>, Slow, LayerNorm<64>, Slow, LayerNorm<64>, Slow, LayerNorm<64>, Linear<64, 5>>;
using trained = trainer<Deep, CrossEntropyLoss, SGD, batch<rows>, float, cuda>;

// The total time of a schedule's ops.
template <class Step>
std::uint64_t nanoseconds_of(const Step& step, const std::vector<plan::stage_cost>& costs) {
  std::uint64_t sum = 0;
  for (const detail::op& o : step.plan.training.ops())
    if (o.kind == detail::op_kind::forward || o.kind == detail::op_kind::backward)
      sum += o.kind == detail::op_kind::forward ? costs[o.position].forward : costs[o.position].backward;
  return sum;
}

} // namespace

TEST_CASE("cuda, times: costs of stages are what the GPU's clock says") {
  fake::reset();
  const std::vector<plan::stage_cost> costs = plan::measured_costs<Deep, rows, float, cuda>();
  const auto linear = [](std::size_t in, std::size_t out) { return fake::time_of_product(rows, out, in); };
  const std::uint64_t wide = fake::time_of_launch(512), narrow = fake::time_of_launch(256); // four elements a thread
  const std::vector<std::uint64_t> forward{linear(12, 256), wide, linear(256, 16), narrow, linear(16, 16), narrow, linear(16, 5)};
  REQUIRE(costs.size() == forward.size());
  for (std::size_t i = 0; i < forward.size(); ++i) {
    CHECK(costs[i].forward == forward[i]);
    CHECK(costs[i].backward == (i % 2 == 0 && i > 0 ? 2 : 1) * forward[i]); // the first has no gradient of its input
  }
}

TEST_CASE("cuda, times: a schedule solved with the GPU's own times is never longer, and differs from FLOPs'") {
  fake::reset();
  const std::vector<plan::stage_cost> costs = plan::measured_costs<Mixed, rows, float, cuda>();
  const memory_curve<Mixed, rows> by_flops, by_times(costs);
  bool differ = false;
  for (std::size_t k = 0; k < by_times.size(); ++k) {
    const auto bytes = by_times[k].bytes;
    const auto here = by_times.within(bytes), there = by_flops.within(bytes);
    CHECK(nanoseconds_of(here, costs) <= nanoseconds_of(there, costs));
    differ = differ || nanoseconds_of(here, costs) < nanoseconds_of(there, costs);
  }
  CHECK(differ);
}

TEST_CASE("cuda, times: a step's trace has each op once, in order, with the GPU's time beside the predicted one") {
  fake::reset();
  const std::vector<plan::stage_cost> costs = plan::measured_costs<Deep, rows, float, cuda>();
  trained t{SGD{.learning_rate = 0.1F}, {.seed = 5}}, same{SGD{.learning_rate = 0.1F}, {.seed = 5}};
  const testing::samples s(rows, 1);
  CHECK(double{t.step(s.x, s.y)} == double{same.step(s.x, s.y)});
  const auto predicted = plan::op_times<Deep, batch<rows>>::of_stages(costs);
  const report::rank_trace trace = report::trace_step(t, s.x, s.y, predicted.ops());
  same.step(s.x, s.y);
  CHECK(t.checksum() == same.checksum());

  std::vector<std::string> seen, foretold;
  std::int64_t before = trace.slices[0].begin;
  for (const report::trace_slice& slice : trace.slices) {
    if (slice.row == 1) foretold.push_back(slice.name);
    if (slice.row != 0 || (slice.kind != "forward" && slice.kind != "backward")) continue;
    seen.push_back(slice.name);
    CHECK(slice.begin >= before);
    before = slice.end;
    CHECK(static_cast<double>(slice.length()) == doctest::Approx(1e3 * slice.facts.back().second));
  }
  CHECK(before <= trace.slices[0].end);
  CHECK(seen.size() == 14);
  CHECK(seen.front() == "0 Linear<12, 256> forward");
  CHECK(seen.back() == "0 Linear<12, 256> backward");
  CHECK(trace.rows == std::vector<std::string>{"compute", "predicted"});
  CHECK(foretold == seen);
  CHECK_THROWS_WITH_AS(report::trace_step(t, s.x, s.y, std::vector<double>(3)), doctest::Contains("predicted times of the "),
                       input_error);
}

} // namespace cuda_times_tests
