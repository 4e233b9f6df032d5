// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/solve/grouping.hpp>

#include "../chains.hpp"
#include "../families.hpp"

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

TEST_CASE("grouping: what a group says is what its stages say") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    dice d(seed);
    const std::size_t n = 2 + d.below(40), length = 1 + d.below(8);
    std::vector<stage> stages = random_stages(d, n, true);
    if (d.coin()) stages = std::vector<stage>(n, stages[0]);
    const chain c = random_ends(d, stages, d.coin());
    const auto table = cost_table_of<at_run_time>(c);
    const grouping<at_run_time> groups{table, n, length};
    const auto& all = groups.of;
    REQUIRE(all[0].starts);
    REQUIRE(all[n].starts);
    std::uint64_t below = 0;
    for (std::size_t first = 0; first < n; first = all[first].last + 1) {
      REQUIRE(all[first].starts);
      REQUIRE(all[all[first].last + 1].starts);
      if (groups.repeats.period == 0) REQUIRE(all[first].last - first < 2 * length);
      std::size_t walked = 0;
      std::uint64_t cost = 0;
      for (std::size_t i = first; i <= all[first].last; ++i) {
        REQUIRE(all[i].below == below);
        REQUIRE(all[i].last == all[first].last);
        REQUIRE(all[i].starts == (i == first));
        below += table[i].cost.forward + table[i].cost.backward;
        if (i == all[first].last) continue;
        cost += table[i].cost.forward;
        const entry& e = table[i];
        walked = std::max(walked, e.input + (e.in_place_forward ? 0 : e.output) + e.plain_workspace);
      }
      REQUIRE(all[first].cost == cost);
      REQUIRE(all[first].walked == walked);
      REQUIRE(all[all[first].last].ends);
    }
    // All copies are cut alike, and often enough.
    if (groups.repeats.period != 0)
      REQUIRE(std::ranges::any_of(all.begin() + 1 + static_cast<std::ptrdiff_t>(groups.repeats.lowest),
                                  all.begin() + 1 + static_cast<std::ptrdiff_t>(groups.repeats.lowest + groups.repeats.period),
                                  [](const group& g) { return g.starts; }));
    const repetition& r = groups.repeats;
    for (std::size_t i = r.lowest + r.period; i < r.end && r.period != 0; ++i)
      REQUIRE(all[i].starts == all[i - r.period].starts);
  }
}

TEST_CASE("grouping: groups begin where values are small") {
  std::vector<stage> stages;
  for (std::size_t i = 0; i < 24; ++i) stages.push_back(dense(i % 6 == 0 ? 16 : 256, i % 6 == 5 ? 16 : 256));
  for (std::size_t i = 0; i < 24; ++i) stages[i].forward_flops += i; // so that no two are equal
  const auto table = cost_table_of<at_run_time>({.stages = stages, .input = {64, 0}});
  const grouping<at_run_time> groups{table, 24, 5};
  for (std::size_t i = 0; i < 24; ++i) CHECK(groups.of[i].starts == (i % 6 == 0));
}

TEST_CASE("grouping: a short chain, or one that repeats itself, is solved as a whole") {
  dice d(1);
  const auto different = random_stages(d, 40);
  const std::vector<stage> equal(40, different[0]);
  const auto length = [](const std::vector<stage>& stages) {
    const auto table = cost_table_of<at_run_time>({.stages = stages, .input = {64, 0}});
    return group_length(table.data(), stages.size(), 36'000, 8);
  };
  CHECK(length(different) == 5);
  CHECK(length(equal) == 1);
  CHECK(length({different.begin(), different.begin() + 32}) == 1);
}
