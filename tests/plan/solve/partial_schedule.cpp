// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/solve/pareto_front.hpp>
#include <cairn/plan/solve/partial_schedule.hpp>
#include <cairn/plan/solve/recurrence.hpp>
#include <cairn/plan/solve/subproblem_table.hpp>

#include "../chains.hpp"
#include "../families.hpp"

namespace solve_partial_schedule_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

constexpr std::size_t any = static_cast<std::size_t>(-1);
using many = partial_schedules<120>;

struct solved {
  divisions<at_run_time> ways;
  subproblem_table<at_run_time> problems;
  std::map<std::size_t, pareto_front> fronts;
  std::map<std::size_t, many> units;

  front_view operator()(const segment& s) const { return fronts.at(problems.place_of(s)).view(); }
  const many& partials_of(const chain_unit& u) const { return units.at(problems.place_of(u)); }

  solved(const cost_table<at_run_time>& table, std::size_t stages, std::size_t most) : ways(table, stages, most), problems(ways) {
    problems.each([&](const subproblem& j) {
      if (j.level != 0) return solve_unit(ways, j.as_unit(), any, *this, units[problems.place_of(j.as_unit())]);
      pareto_front front(any, -1);
      solve_segment(ways, j.of, *this, front);
      fronts.emplace(problems.place_of(j.of), front);
    });
  }
};

// The sums over the splits of a partial schedule.
struct told {
  std::size_t more = 0, forward = 0, back = 0;
  std::uint64_t cost = 0;
};
void tell(const solved& all, const chain_unit& u, std::uint64_t splits, segment& s, told& out) {
  const std::size_t level = u.points(all.ways), digit = u.digit(level);
  std::size_t point = all.ways.grid.below(level, u.first);
  for (; splits != 0; splits >>= digit) {
    const std::size_t end = all.ways.grid.point(level, ++point);
    const std::uint64_t code = splits % (std::uint64_t{1} << digit);
    if (code > 2) {
      const chain_unit inner{s.first, end, level, s.how.owns};
      tell(all, inner, all.partials_of(inner).of[code - 3].splits, s, out);
    } else if (code > 0) {
      const division d = all.ways.split(s, end, code == 2);
      const entry& last = all.ways.table[s.last];
      const need below = all(d.lower).cheapest();
      out.forward = std::max(out.forward, out.more + d.bytes - last.output_gradient - last.windows);
      out.back = std::max(out.back, out.more + below.bytes);
      out.more += d.more;
      out.cost += d.cost + below.cost;
      s = d.upper;
    }
  }
}

} // namespace

TEST_CASE("partial schedules: each says what its splits need one after the other, and ends where its unit does") {
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    dice d(seed);
    const auto stages = d.coin() ? random_stages(d, 10 + d.below(40)) : mlp_stages(d, 10 + d.below(40));
    const auto table = cost_table_of<at_run_time>({.stages = stages, .input = {64, 0}});
    const solved all{table, stages.size(), 5 + d.below(4)};
    all.problems.each([&](const subproblem& j) {
      if (j.level == 0) return;
      const chain_unit u = j.as_unit();
      const many& ways = all.partials_of(u);
      std::uint64_t last = partial_schedule::endless;
      std::size_t bytes = 0;
      for (std::size_t k = 0; k < 240; ++k) {
        const partial_schedule& p = ways.of[k];
        if (k == 120) last = partial_schedule::endless, bytes = 0;
        if (p.cost == partial_schedule::endless) continue;
        ++compared;
        REQUIRE(p.cost < last); // the more bytes are kept, the less it costs
        REQUIRE(p.more >= bytes);
        last = p.cost;
        bytes = p.more;
        segment s{u.first, stages.size(), {u.owns, false}};
        told found;
        tell(all, u, p.splits, s, found);
        REQUIRE(s.first == u.end);
        REQUIRE(s.how.owns == many::upper_owns(k));
        REQUIRE(found.more == p.more);
        REQUIRE(found.forward <= p.forward);
        REQUIRE(found.back == p.back);
        REQUIRE(found.cost == p.cost);
      }
    });
  }
  CHECK(compared > 5000);
}

TEST_CASE("partial schedules: one of them runs nothing twice, and one keeps no more than the first value") {
  dice d(7);
  const auto stages = mlp_stages(d, 60);
  const auto table = cost_table_of<at_run_time>({.stages = stages, .input = {64, 0}});
  const solved all{table, stages.size(), 8};
  all.problems.each([&](const subproblem& j) {
    if (j.level == 0) return;
    const chain_unit u = j.as_unit();
    std::uint64_t once = 0, cheapest = partial_schedule::endless;
    std::size_t least = any;
    for (std::size_t i = u.first; i < u.end; ++i) once += table[i].cost.forward + table[i].cost.backward;
    for (const partial_schedule& p : all.partials_of(u).of) {
      if (p.cost == partial_schedule::endless) continue;
      cheapest = std::min(cheapest, p.cost);
      least = std::min(least, p.more);
    }
    CHECK(cheapest == once);
    CHECK(least <= (u.owns ? table[u.first].input : 0));
  });
}

TEST_CASE(
    "partial schedules: of those that keep about as much the cheapest stays, and none that costs more than one that keeps less") {
  partial_schedules<4> few;
  const auto offer = [&](std::size_t more, std::uint64_t cost) { few.offer({more, 0, 0, cost, 0}, true, 10); };
  offer(5, 90);
  offer(7, 80);
  offer(3, 80);
  offer(15, 85);
  offer(25, 60);
  offer(99, 50);
  few.finish();
  for (std::size_t k = 0; k < 4; ++k) CHECK(few.of[k].cost == partial_schedule::endless);
  CHECK(few.of[4].more == 3);
  CHECK(few.of[5].cost == partial_schedule::endless);
  CHECK(few.of[6].cost == 60);
  CHECK(few.of[7].cost == 50);
}

} // namespace solve_partial_schedule_tests
