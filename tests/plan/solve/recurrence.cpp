// SPDX-License-Identifier: MIT
// The same recurrence with both kinds of fronts.
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/solve/marked_front.hpp>
#include <cairn/plan/solve/pareto_front.hpp>
#include <cairn/plan/solve/recurrence.hpp>

#include "../chains.hpp"
#include "../families.hpp"
#include "../outcome.hpp"

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

// All stretches of a chain, each with a front of its own.
template <class Front, class View>
struct solved {
  std::size_t stages;
  cost_table<at_run_time> table;
  grouping<at_run_time> groups;
  divisions<at_run_time> ways;
  std::unordered_map<std::size_t, Front> fronts;

  std::size_t key(std::size_t first, std::size_t last, std::size_t how) const {
    return (first * (stages + 1) + last) * standings + how;
  }
  View operator()(std::size_t first, std::size_t last, std::size_t how) const {
    const Front& f = fronts.at(key(first, last, how));
    if constexpr (requires { f.view(); }) return f.view();
    else return f;
  }

  solved(const chain& c, std::size_t length, const Front& empty)
      : stages(c.size()), table(cost_table_of<at_run_time>(c)), groups(table, stages, length),
        ways(table, stages, groups) {
    groups.repeats = {};
    for (std::size_t last = 0; last <= stages; ++last)
      for (std::size_t first = last + 1; first-- > 0;)
        for (std::size_t how = 0; how < standings; ++how) {
          const stretch s{first, last, standing_of(how)};
          if (!ways.is_asked_for(s)) continue;
          Front f = empty;
          solve_stretch(ways, s, *this, f);
          fronts.emplace(key(first, last, how), f);
        }
  }
};

using exact_fronts = solved<pareto_front, front_view>;
using marked_fronts = solved<marked_front<64>, const marked_front<64>&>;

std::vector<route_step> write(const auto& all, const chain& c, std::size_t bytes, need& out) {
  route counted{c};
  out = write_route(all.ways, all, c.size(), bytes, counted);
  std::vector<route_step> moves(counted.size());
  route written{c, moves.data()};
  write_route(all.ways, all, c.size(), bytes, written);
  return moves;
}

} // namespace

TEST_CASE("recurrence: what is written needs no more than its front says, in groups or not, of either kind") {
  std::size_t points = 0, equal = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    dice d(seed);
    const std::size_t n = 1 + d.below(14);
    const auto stages = random_stages(d, n);
    const chain c = random_ends(d, stages, d.coin());
    const std::size_t length = 1 + d.below(5);
    const exact_fronts whole{c, 1, pareto_front(static_cast<std::size_t>(-1), -1)};
    const exact_fronts grouped{c, length, pareto_front(static_cast<std::size_t>(-1), -1)};
    const front_view curve = whole(0, n, 0), coarse = grouped(0, n, 0);
    REQUIRE(curve.count > 0);
    CHECK(coarse.ways[0].bytes >= curve.ways[0].bytes);
    CHECK(coarse.ways[coarse.count - 1].cost == curve.ways[curve.count - 1].cost);
    for (std::size_t k = 0; k < curve.count; ++k, ++points) {
      const way w = curve.ways[k];
      need own;
      outcome real = plan(c, write(whole, c, w.bytes, own));
      REQUIRE(real.fault == nullptr);
      REQUIRE(real.bytes <= w.bytes);
      REQUIRE(own.bytes <= w.bytes);
      REQUIRE(own.cost <= w.cost);
      REQUIRE(real.cost <= own.cost);

      // By marks, of a budget that is this point's bytes.
      const marks scale{.budget = static_cast<std::int64_t>(w.bytes), .count = 64};
      const marked_fronts marked{c, 1, marked_front<64>(scale)};
      const marked_front<64>& at = marked(0, n, 0);
      REQUIRE(at.least.bytes == curve.ways[0].bytes);
      REQUIRE(at.low <= 64);
      REQUIRE(at.cost[64] >= w.cost);
      equal += at.cost[64] == w.cost;
      real = plan(c, write(marked, c, w.bytes, own));
      REQUIRE(real.fault == nullptr);
      REQUIRE(real.bytes <= w.bytes);
      REQUIRE(own.bytes <= w.bytes);
      REQUIRE(own.cost <= at.cost[64]);
    }
  }
  CHECK(points > 500);
  CHECK(equal * 100 >= points * 97);
  MESSAGE("with 64 marks " << equal << " of " << points << " are the cheapest");
}
