// SPDX-License-Identifier: MIT
// The compile-time solver finds every segment where it put it: its results are those of the same recurrence at run time.
#include <array>
#include <cstddef>

#include <doctest/doctest.h>

#include <cairn/plan/solve/budget_solver.hpp>
#include <cairn/plan/solve/solver.hpp>

#include "../chains.hpp"
#include "../families.hpp"

namespace solve_budget_solver_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

// Equal blocks of two stages between different ends: most segments are copies, some end after the copies.
template <std::size_t Blocks>
struct repeated_blocks {
  static constexpr auto stages = [] {
    std::array<stage, 2 * Blocks + 4> list{};
    list[0] = dense(64, 128);
    list[1] = relu(128);
    for (std::size_t i = 0; i < Blocks; ++i) {
      list[2 * i + 2] = dense(128, 128);
      list[2 * i + 3] = gelu(128);
    }
    list[2 * Blocks + 2] = dense(128, 32);
    list[2 * Blocks + 3] = dropout(32);
    return list;
  }();
  static constexpr chain value{.stages = stages, .batch = 16, .input = {256, 0}};
};

template <class Source, std::size_t Bytes>
void agrees() {
  using solved = budget_solution<Source, Bytes>;
  const solver exact(Source::value);
  CHECK(solved::front.least.bytes == exact[0].bytes);
  REQUIRE(exact[0].bytes <= Bytes);
  route counted{Source::value};
  const need own = solved::write(Bytes, counted);
  CHECK(own.bytes <= Bytes);
  CHECK(own.cost <= solved::front.cost[solved::sample_count]);
  std::array<route_step, 4000> steps{};
  REQUIRE(counted.size() <= steps.size());
  route written{Source::value, steps.data()};
  solved::write(Bytes, written);
  std::size_t forwards = 0;
  for (std::size_t i = 0; i < written.size(); ++i) forwards += steps[i].backward ? 0 : 1;
  CHECK(written.size() - forwards == Source::value.size());
  CHECK(forwards >= Source::value.size());
}

} // namespace

TEST_CASE("budget solver: a chain with copies") {
  static_assert(budget_solver<repeated_blocks<8>, 1000>::ways.grid.levels == 1);
  static_assert(budget_solver<repeated_blocks<8>, 1000>::ways.grid.last_copy() > 0);
  agrees<repeated_blocks<8>, 48_KiB>();
  agrees<repeated_blocks<8>, 100_KiB>();
}
TEST_CASE("budget solver: a chain with copies, on a grid") {
  using source = repeated_blocks<36>;
  static_assert(budget_solver<source, 1000>::ways.grid.levels > 1);
  static_assert(budget_solver<source, 1000>::ways.grid.last_copy() > 0);
  agrees<source, 100_KiB>();
}
TEST_CASE("budget solver: costs are told in units that keep their proportions") {
  constexpr auto table = cost_table_of<12>(repeated_blocks<4>::value);
  constexpr auto units = in_cost_units<12>(table);
  std::uint64_t sum = 0, all = 0;
  for (const entry& e : table) all += e.cost.forward + e.cost.backward;
  const std::uint64_t unit = all / cost_units + 1;
  for (std::size_t i = 0; i < 12; ++i) {
    sum += units[i].cost.forward + units[i].cost.backward;
    const double exact = static_cast<double>(table[i].cost.forward) / static_cast<double>(unit);
    if (exact < 50) continue; // rounded to less than 1 %
    CHECK(static_cast<double>(units[i].cost.forward) == doctest::Approx(exact).epsilon(0.01));
  }
  CHECK(sum > cost_units / 2);
  CHECK(sum <= cost_units + 24);
}

} // namespace solve_budget_solver_tests
