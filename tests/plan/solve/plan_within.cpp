// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/plan/solve/solver.hpp>
#include <doctest/doctest.h>

#include "../chains.hpp"

namespace solve_plan_within_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

struct source {
  static constexpr std::array<stage, 10> stages{dense(64, 128), relu(128),    block(128, 2), dropout(128),  dense(128, 64),
                                                gelu(64),       block(64, 1), block(64, 3),  dense(64, 32), dense(32, 8)};
  static constexpr chain value{.stages = stages, .batch = 24, .input = {256, 0}};
};

} // namespace

TEST_CASE("every budget on the curve is kept, by the cheapest schedule that lies in it") {
  const solver solved(source::value);
  std::size_t tight = 0;
  for (std::size_t i = 0; i < solved.size(); ++i) {
    const run_time_plan found = plan_within(source::value, solved, solved[i].bytes);
    CHECK(found.memory.arena <= solved[i].bytes);
    const auto cost = flops(source::value, found.training.ops());
    CHECK(cost >= solved[i].cost);
    CHECK(found.over_best == static_cast<double>(cost) / static_cast<double>(solved[i].cost));
    tight += cost == solved[i].cost ? 1 : 0;
  }
  CHECK(tight * 10 >= solved.size() * 9); // live buffers are nearly always packed without a gap
}

TEST_CASE("an impossible budget is an error that states the least possible number of bytes") {
  const solver solved(source::value);
  const std::string least = std::to_string(solved[0].bytes);
  CHECK_THROWS_WITH_AS(plan_within(source::value, solved, solved[0].bytes - 64), doctest::Contains(least.c_str()), input_error);
  CHECK_THROWS_WITH_AS(plan_within(source::value, solved, 1025), doctest::Contains("found 1025 bytes (2 KiB)"), input_error);
}

} // namespace solve_plan_within_tests
