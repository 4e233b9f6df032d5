// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/solve/pareto_front.hpp>

#include "../chains.hpp"

namespace solve_pareto_front_tests {

using namespace cairn::detail;
using cairn::testing::dice;

namespace {

using front = std::vector<front_point>;

// The ways that no other way beats: bytes increase, costs decrease.
front best_of(front ways) {
  std::stable_sort(ways.begin(), ways.end(), [](const front_point& a, const front_point& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.cost < b.cost;
  });
  front out;
  for (const front_point& w : ways)
    if (out.empty() || w.cost < out.back().cost) out.push_back(w);
  return out;
}

front random_front(dice& d, std::size_t most) {
  front ways;
  for (std::size_t k = d.below(most + 1); k > 0; --k) ways.push_back(front_point_of(d.below(40), d.below(30), 2));
  return best_of(ways);
}
front_view view(const front& f) { return {f.data(), f.size()}; }

struct offer {
  front upper, lower;
  std::size_t more = 0;
  need own{};
};
offer random_offer(dice& d) { return {random_front(d, 6), random_front(d, 6), d.below(10), {d.below(30), d.below(20)}}; }

// Joins all pairs, one by one.
void join_plainly(front& ways, const offer& o, std::size_t begin, std::size_t most) {
  for (const front_point& u : o.upper)
    for (const front_point& l : o.lower) {
      const std::size_t bytes = std::max<std::size_t>({o.own.bytes, u.bytes + o.more, l.bytes});
      if (bytes <= most) ways.push_back(front_point_of(o.own.cost + u.cost + l.cost, bytes, begin));
    }
  ways = best_of(ways);
}

} // namespace

TEST_CASE("front: joining is what one gets by trying all pairs") {
  std::size_t taken = 0;
  for (std::uint64_t seed = 0; seed < 10000; ++seed) {
    dice d(seed);
    const std::size_t most = 10 + d.below(50);
    pareto_front found(most, -1);
    front expected;
    found.clear(0);
    for (std::size_t k = 0; k < 3; ++k) {
      const offer o = random_offer(d);
      found.offer(view(o.upper), o.more, view(o.lower), o.own, static_cast<std::uint32_t>(2 * k + 2));
      join_plainly(expected, o, 2 * k + 2, most);
    }
    REQUIRE(found.view().count == expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k, ++taken) {
      REQUIRE((found.view().ways[k].bytes == expected[k].bytes));
      REQUIRE(found.view().ways[k].cost == expected[k].cost);
      REQUIRE((found.view().ways[k].begin == expected[k].begin));
      REQUIRE((found.view().within(expected[k].bytes) == expected[k].begin));
    }
  }
  CHECK(taken > 5000);
}

TEST_CASE("front: of ways between two samples the cheapest stays, and that of the least bytes always") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    dice d(seed);
    pareto_front exact(1U << 20, -1), thinned(1U << 20, 2);
    for (std::size_t k = 0; k < 40; ++k) {
      const front one{front_point_of(d.below(4000), 256 + d.below(4000), 0)}, none{front_point_of(0, 0, 0)};
      exact.offer(view(one), 0, view(none), {}, 2);
      thinned.offer(view(one), 0, view(none), {}, 2);
    }
    const front_view all = exact.view(), few = thinned.view();
    REQUIRE((few.ways[0].bytes == all.ways[0].bytes));
    REQUIRE(few.ways[few.count - 1].cost == all.ways[all.count - 1].cost);
    REQUIRE(few.count <= 4 * 5 + 2); // four samples per doubling of the bytes
    std::size_t at = 0;
    for (std::size_t k = 0; k < all.count; ++k) {
      while (at + 1 < few.count && few.ways[at].bytes < all.ways[k].bytes) ++at;
      REQUIRE((few.ways[at].cost <= all.ways[k].cost));
      REQUIRE((few.ways[at].bytes <= all.ways[k].bytes + all.ways[k].bytes / 4));
    }
  }
}

TEST_CASE("front: without one of its parts a division is none") {
  const front none, some{front_point_of(1, 1, 0)};
  pareto_front found(100, -1);
  found.be({5, 5});
  found.offer(view(none), 0, view(some), {}, 2);
  found.offer(view(some), 0, view(none), {}, 2);
  CHECK(found.view().count == 1);
  found.clear(0);
  found.offer(view(some), 100, view(some), {}, 2); // above `most`
  CHECK(found.view().count == 0);
}

TEST_CASE("front: of two equal ways the one that was known stays") {
  const front some{front_point_of(2, 4, 0)};
  pareto_front found(100, -1);
  found.offer(view(some), 0, view(some), {}, 2);
  found.offer(view(some), 0, view(some), {}, 4);
  REQUIRE(found.view().count == 1);
  CHECK((found.view().ways[0].begin == 2));
}

} // namespace solve_pareto_front_tests
