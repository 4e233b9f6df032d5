// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/solve/pareto_front.hpp>

#include "../chains.hpp"

using namespace cairn::detail;
using cairn::testing::dice;

namespace {

using front = std::vector<way>;

// What is not beaten: bytes go up, cost goes down.
front best_of(front ways) {
  std::stable_sort(ways.begin(), ways.end(), [](const way& a, const way& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.cost < b.cost;
  });
  front out;
  for (const way& w : ways)
    if (out.empty() || w.cost < out.back().cost) out.push_back(w);
  return out;
}

front random_front(dice& d, std::size_t most) {
  front ways;
  for (std::size_t k = d.below(most + 1); k > 0; --k)
    ways.push_back({.bytes = d.below(30), .cost = d.below(40), .split = 1});
  return best_of(ways);
}

// All pairs, one by one.
front join_plainly(front ways, const part_front& upper, const part_front& lower, const way& begin,
                   std::size_t most) {
  for (std::size_t u = 0; u < upper.size(); ++u)
    for (std::size_t l = 0; l < lower.size(); ++l) {
      way w = begin;
      w.bytes = std::max({begin.bytes, upper.bytes(u), lower.bytes(l)});
      w.cost = begin.cost + upper.ways[u].cost + lower.ways[l].cost;
      if (w.bytes <= most) ways.push_back(w);
    }
  return best_of(ways);
}

} // namespace

TEST_CASE("front: joining is what one gets by trying all pairs") {
  std::size_t taken = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    dice d(seed);
    const front known = random_front(d, 6), above = random_front(d, 6), below = random_front(d, 6);
    const part_front upper{above, d.below(10)}, lower{below, d.below(10)};
    const way begin{.bytes = d.below(30), .cost = d.below(20), .split = 2, .tapes = d.coin()};
    // What is known is within `most` already.
    const std::size_t most = std::max<std::size_t>(d.below(50), known.empty() ? 0 : known.back().bytes);
    front found{way{.bytes = 99}}; // what was in there is gone
    join(known, upper, lower, begin, most, found);
    const front expected = join_plainly(known, upper, lower, begin, most);
    REQUIRE(found.size() == expected.size());
    for (std::size_t k = 0; k < found.size(); ++k) {
      const way& w = found[k];
      REQUIRE(w.bytes == expected[k].bytes);
      REQUIRE(w.cost == expected[k].cost);
      if (w.split != begin.split) continue;
      // The parts that it names are the parts that make it.
      ++taken;
      REQUIRE(w.tapes == begin.tapes);
      REQUIRE(std::max({begin.bytes, upper.bytes(w.upper), lower.bytes(w.lower)}) == w.bytes);
      REQUIRE(begin.cost + above[w.upper].cost + below[w.lower].cost == w.cost);
    }
  }
  CHECK(taken > 5000);
}

TEST_CASE("front: without one of its parts a division is none") {
  const front known{way{.bytes = 5, .cost = 5}}, none, some{way{.bytes = 1, .cost = 1}};
  front found;
  join(known, {none, 0}, {some, 0}, {}, 100, found);
  CHECK(found.size() == 1);
  join(known, {some, 0}, {none, 0}, {}, 100, found);
  CHECK(found.size() == 1);
  join(none, {none, 0}, {some, 0}, {}, 100, found);
  CHECK(found.empty());
  join(none, {some, 0}, {some, 0}, {}, 0, found); // above `most`
  CHECK(found.empty());
}

TEST_CASE("front: of two equal ways the one that was known stays") {
  const front known{way{.bytes = 4, .cost = 4, .split = 1}}, some{way{.bytes = 4, .cost = 2}};
  front found;
  join(known, {some, 0}, {some, 0}, {.split = 2}, 100, found);
  REQUIRE(found.size() == 1);
  CHECK(found[0].split == 1);
}
