// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/solve/checkpoint_grid.hpp>

#include "../chains.hpp"
#include "../families.hpp"

namespace solve_checkpoint_grid_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

// Random stages, or copies of a few of them between other random stages.
std::vector<stage> stages_of(dice& d) {
  std::vector<stage> list = random_stages(d, 1 + d.below(60));
  if (d.coin()) return list;
  const auto copied = random_stages(d, 1 + d.below(7));
  for (std::size_t k = 10 + d.below(30); k > 0; --k) list.insert(list.end(), copied.begin(), copied.end());
  for (const stage& s : random_stages(d, d.below(20))) list.push_back(s);
  return list;
}

} // namespace

TEST_CASE("checkpoint grid: each level has about half of the points of the one below, and both ends") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    dice d(seed);
    const auto stages = stages_of(d);
    const std::size_t n = stages.size(), most = 5 + d.below(12);
    const auto table = cost_table_of<at_run_time>({.stages = stages, .input = {64, 0}});
    const checkpoint_grid<at_run_time> grid{table.data(), n, most, true};
    REQUIRE(grid.levels <= checkpoint_grid<at_run_time>::most_levels(n));
    REQUIRE(grid.points(0) == n + 2);
    REQUIRE(grid.points(grid.levels - 1) <= most + 1);
    for (std::size_t level = 0; level < grid.levels; ++level) {
      const std::size_t count = grid.points(level);
      REQUIRE(grid.point(level, 0) == 0);
      REQUIRE(grid.point(level, count - 1) == n + 1);
      if (level > 0) REQUIRE(2 * (count - 2) <= grid.points(level - 1) - 1);
      for (std::size_t k = 0; k < count; ++k) {
        const std::size_t b = grid.point(level, k);
        REQUIRE(grid.below(level, b) == k);
        REQUIRE(grid.height(b) >= level);
        if (k == 0) continue;
        REQUIRE(b > grid.point(level, k - 1));
        if (level > 0) REQUIRE(grid.units(level - 1, grid.point(level, k - 1), b) <= 7); // a partial schedule has eight digits
      }
    }
  }
}

TEST_CASE("checkpoint grid: of two neighbours the point with the smaller value stays") {
  std::vector<stage> stages;
  for (std::size_t i = 0; i < 24; ++i) stages.push_back(dense(16 + 8 * (i % 2), 16 + 8 * ((i + 1) % 2)));
  for (std::size_t i = 0; i < 24; ++i) stages[i].forward_flops += i; // so that no two are equal
  const auto table = cost_table_of<at_run_time>({.stages = stages, .input = {64, 0}});
  const checkpoint_grid<at_run_time> grid{table.data(), 24, 12, true};
  for (std::size_t b = 1; b <= 24; ++b) CHECK((grid.height(b) > 0) == (table[b].input == 64));
}

TEST_CASE("checkpoint grid: a short segment is solved wherever it is, and a part of a division is split on") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    dice d(seed);
    const auto stages = stages_of(d);
    const std::size_t n = stages.size(), most = 5 + d.below(12);
    const auto table = cost_table_of<at_run_time>({.stages = stages, .input = {64, 0}});
    const checkpoint_grid<at_run_time> grid{table.data(), n, most, d.coin()};
    std::size_t solved = 0;
    for (std::size_t first = 0; first <= n; ++first)
      for (std::size_t end = first + 1; end <= n + 1; ++end) {
        if (end - first <= most) REQUIRE(grid.solves(first, end));
        if (!grid.solves(first, end)) continue;
        ++solved;
        const std::size_t level = grid.level_of(first, end);
        REQUIRE(grid.units(level, first, end) <= most);
        if (level > 0) REQUIRE(grid.units(level - 1, first, end) > most);
        if (first != 0) REQUIRE((grid.height(first) >= level && grid.height(end) >= level));
        bool splits = end == first + 1;
        for (std::size_t b = first + 1; b < end; ++b) splits = splits || (grid.solves(first, b) && grid.solves(b, end));
        REQUIRE(splits);
      }
    REQUIRE(solved <= (n + 1) * (2 * most + 2));
  }
}

TEST_CASE("checkpoint grid: a segment and its copy have the same points") {
  std::size_t copies = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    dice d(seed);
    const auto stages = stages_of(d);
    const std::size_t n = stages.size();
    const auto table = cost_table_of<at_run_time>({.stages = stages, .input = {64, 0}});
    const checkpoint_grid<at_run_time> grid{table.data(), n, 5 + d.below(12), d.coin()};
    for (std::size_t first = 1; first <= n; ++first)
      for (std::size_t end = first + 1; end <= n + 1; ++end) {
        if (!grid.solves(first, end)) continue;
        const std::size_t level = grid.level_of(first, end), back = grid.steps_back(first, end - 1, level);
        if (back == 0) continue;
        ++copies;
        REQUIRE(end <= grid.last_copy());
        REQUIRE(grid.solves(first - back, end - back));
        REQUIRE(grid.level_of(first - back, end - back) == level);
        REQUIRE(grid.steps_back(first - back, end - back - 1, level) == 0);
        for (std::size_t b = first; b <= end; ++b)
          for (std::size_t k = 0; k <= level; ++k) REQUIRE((grid.height(b) >= k) == (grid.height(b - back) >= k));
      }
  }
  CHECK(copies > 10000);
}

} // namespace solve_checkpoint_grid_tests
