// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/solve/subproblem_table.hpp>

#include "../chains.hpp"
#include "../families.hpp"

namespace solve_subproblem_table_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

// recurrence.cpp checks that each subproblem comes after those that it needs: it would not find their results otherwise.
TEST_CASE("subproblem table: every segment that is asked for is a subproblem or the copy of one, at a place of its own") {
  std::size_t copies = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    dice d(seed);
    std::vector<stage> stages = random_stages(d, 1 + d.below(30));
    if (d.coin()) {
      const auto copied = random_stages(d, 1 + d.below(4));
      for (std::size_t k = 20; k > 0; --k) stages.insert(stages.end(), copied.begin(), copied.end());
      stages.push_back(random_stage(d));
    }
    const std::size_t n = stages.size();
    const auto table = cost_table_of<at_run_time>({.stages = stages, .input = {64, 0}});
    const divisions<at_run_time> ways{table, n, d.coin() ? n + 1 : 5 + d.below(9), d.coin()};
    const subproblem_table<at_run_time> problems{ways};
    std::set<std::size_t> places;
    problems.each([&](const subproblem& j) {
      const std::size_t place = problems.place_of(j);
      REQUIRE(place < problems.places());
      REQUIRE(places.insert(place).second);
    });
    for (std::size_t first = 0; first <= n; ++first)
      for (std::size_t last = first; last <= n; ++last)
        for (std::size_t how = 0; how < segment_states; ++how) {
          const segment s{first, last, segment_state_of(how)};
          if (!ways.is_asked_for(s) || !ways.grid.solves(first, last + 1)) continue;
          REQUIRE(places.count(problems.place_of(s)) == 1);
          if (first == 0) continue;
          const std::size_t back = ways.grid.steps_back(first, last, ways.grid.level_of(first, last + 1));
          copies += back != 0;
          REQUIRE(problems.place_of(segment{first - back, last - back, s.how}) == problems.place_of(s));
        }
    for (std::size_t level = 1; level < ways.grid.levels; ++level)
      for (std::size_t k = 0; k + 2 < ways.grid.points(level); ++k) {
        const chain_unit u{ways.grid.point(level, k), ways.grid.point(level, k + 1), level, k != 0};
        REQUIRE(places.count(problems.place_of(u)) == 1);
      }
  }
  CHECK(copies > 5000);
}

TEST_CASE("subproblem table: a thousand equal stages are not much more work than a hundred") {
  const auto count = [](std::size_t n) {
    std::vector<stage> stages(n, block(64, 1));
    stages.push_back(dense(64, 10));
    const auto table = cost_table_of<at_run_time>({.stages = stages, .input = {256, 0}});
    const divisions<at_run_time> ways{table, n + 1, 12};
    std::size_t inside = 0;
    subproblem_table<at_run_time>{ways}.each([&](const subproblem& j) { inside += j.of.first != 0; });
    return inside;
  };
  CHECK(count(100) < 130);
  CHECK(count(1000) < 200);
}

} // namespace solve_subproblem_table_tests
