// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/train/measured_costs.hpp>
#include <doctest/doctest.h>

namespace measured_costs_tests {

using namespace cairn;

TEST_CASE("measured costs: every stage has the time of its forward, and of its backward where it has one") {
  using Net = Sequential<Input<256>, Linear<256, 256>, Tanh, Residual<Linear<256, 256>, ReLU>, Linear<256, 8>>;
  const std::vector<plan::stage_cost> costs = plan::measured_costs<Net, 64>();
  REQUIRE(costs.size() == 5);
  CHECK(costs[0].backward == 0); // no gradient is needed below the first parameter
  for (const std::size_t i : std::vector<std::size_t>{1, 2, 3, 4}) {
    CHECK(costs[i].forward > 0);
    CHECK(costs[i].backward > 0);
    CHECK(costs[i].tape <= costs[i].forward);
  }
  // Safe on a busy machine: stage 1 has about thirty times the FLOPs of stage 4.
  CHECK(costs[1].forward > costs[4].forward);
}

TEST_CASE("measured costs: a curve solved with them has schedules of the same network") {
  using Net = Sequential<Linear<64, 128>, ReLU, Repeat<4, Residual<Linear<128, 128>, ReLU>>, Linear<128, 8>>;
  const memory_curve<Net, 32> curve(plan::measured_costs<Net, 32>());
  REQUIRE(curve.size() > 1);
  const auto step = curve.within(curve[0].bytes);
  CHECK(step.plan.memory.arena <= curve[0].bytes);
}

TEST_CASE("measured costs: copies of a stage cost what they do on average") {
  using Net = Sequential<Linear<32, 32>, Tanh, Repeat<5, Residual<Linear<32, 32>, Tanh>>, Linear<32, 32>, Tanh>;
  const std::vector<plan::stage_cost> costs = plan::measured_costs<Net, 16>();
  REQUIRE(costs.size() == 9);
  for (std::size_t i = 3; i < 7; ++i) CHECK(costs[i] == costs[2]);
  CHECK(costs[7].forward == costs[0].forward);
  CHECK(costs[8] == costs[1]);

  std::vector<plan::stage> stages(4);
  for (plan::stage& s : stages) s.type = "one";
  stages[2].type = "other";
  std::vector<plan::stage_cost> given{{10, 5, 4}, {20, 5, 8}, {7, 7, 7}, {33, 5, 14}};
  detail::average_copies(given, stages, 0);
  CHECK(given[0] == plan::stage_cost{21, 5, 4}); // its backward computes no input gradient
  CHECK(given[1] == plan::stage_cost{21, 5, 11});
  CHECK(given[2] == plan::stage_cost{7, 7, 7});
  CHECK(given[3] == plan::stage_cost{21, 5, 11});
}

} // namespace measured_costs_tests
