// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/solve/segment.hpp>

namespace cairn::detail {

// One schedule that crosses a unit of a long segment. Forwards from the unit's first stage to its end store some of what its
// backwards read. Then the part above is walked back, and then the unit, each part of it by its cheapest schedule.
struct partial_schedule {
  static constexpr std::uint64_t endless = static_cast<std::uint64_t>(-1) / 4;

  std::size_t more = 0;    // bytes that are kept while the part above is walked, and that it does not count
  std::size_t forward = 0; // the most bytes of the forwards, besides what the part above needs meanwhile
  std::size_t back = 0;    // the most bytes of the unit's walk back
  std::uint64_t cost = endless;
  // Its splits, `digit` bits for each point inside the unit: 0 for none, 1 for one that does not tape, 2 for one that does, 3 +
  // k where partial schedule k of the unit below the point ends.
  std::uint64_t splits = 0;
};

// A unit of a level above 0: its stages, and whether its first value belongs to it.
struct chain_unit {
  std::size_t first = 0;
  std::size_t end = 0;
  std::size_t level = 0;
  bool owns = false;

  // A short unit is crossed stage by stage, a longer one by the units of the level below.
  template <std::size_t Stages>
  constexpr std::size_t points(const divisions<Stages>& ways) const {
    return end - first <= ways.grid.most ? 0 : level - 1;
  }
  constexpr std::size_t digit(std::size_t points) const { return points == 0 ? 2 : 8; }
};

// The partial schedules of a unit: the cheapest of those that keep about the same bytes. First come those after which the value
// above belongs to the unit, then those after which it does not.
template <std::size_t Kinds>
struct partial_schedules {
  partial_schedule of[2 * Kinds]{};

  static constexpr bool upper_owns(std::size_t k) { return k >= Kinds; }

  constexpr void offer(const partial_schedule& p, bool upper_owns, std::size_t distance) {
    const std::size_t kind = p.more / distance;
    partial_schedule& known = of[(upper_owns ? Kinds : 0) + (kind < Kinds ? kind : Kinds - 1)];
    if (p.cost < known.cost || (p.cost == known.cost && p.more < known.more)) known = p;
  }
  // Removes partial schedules that cost no less than one that keeps less.
  constexpr void finish() {
    for (std::size_t half = 0; half < 2 * Kinds; half += Kinds)
      for (std::size_t k = half, best = 2 * Kinds; k < half + Kinds; ++k) {
        if (best < 2 * Kinds && of[k].cost >= of[best].cost) of[k].cost = partial_schedule::endless;
        if (of[k].cost < partial_schedule::endless) best = k;
      }
  }
};

// Finds the partial schedules of a unit within `most` bytes: it extends those up to one of the unit's points by one more split,
// up to another point. find gives the fronts of segments, and partial schedules of smaller units.
template <std::size_t Kinds, std::size_t Stages, class Find>
constexpr void solve_unit(const divisions<Stages>& ways, const chain_unit& u, std::size_t most, const Find& find,
                          partial_schedules<Kinds>& out) {
  constexpr std::size_t capacity = Stages == at_run_time ? at_run_time : 17;
  const std::size_t level = u.points(ways), digit = u.digit(level);
  const auto& grid = ways.grid;
  const std::size_t first = grid.below(level, u.first), count = grid.units(level, u.first, u.end);
  plain_array<partial_schedules<Kinds>, capacity> up_to(count + 1);
  up_to.items[0].of[u.owns ? Kinds : 0] = {0, 0, 0, 0, 0};
  for (std::size_t n = 1; n <= count; ++n) {
    const std::size_t end = grid.point(level, first + n);
    const std::size_t distance = ways.stored(u.first, end) / (Kinds - 1) + 1;
    const entry& above = ways.table.items[end];
    for (std::size_t k = 0; k < n; ++k)
      for (const bool owns : {false, true}) {
        const partial_schedule* const known = up_to.items[k].of + (owns ? Kinds : 0);
        const auto join = [&](const partial_schedule& next, std::uint64_t code, bool upper_owns) {
          for (std::size_t i = 0; i < Kinds; ++i) {
            const partial_schedule& p = known[i];
            if (p.cost == partial_schedule::endless) continue;
            const std::size_t forward = p.more + next.forward, back = p.more + next.back;
            const partial_schedule both{p.more + next.more, p.forward < forward ? forward : p.forward,
                                        p.back < back ? back : p.back, p.cost + next.cost, p.splits | code << (digit * (n - 1))};
            if (both.forward <= most && both.back <= most) up_to.items[n].offer(both, upper_owns, distance);
          }
        };
        bool any = false;
        for (std::size_t i = 0; i < Kinds; ++i) any = any || known[i].cost != partial_schedule::endless;
        if (!any) continue;
        const std::size_t at = grid.point(level, first + k);
        const auto offer = [&](std::size_t, bool tapes, std::size_t more, std::size_t bytes, std::uint64_t cost) {
          const need below = find({at, end - 1, {owns, tapes}}).cheapest();
          if (below.cost == partial_schedule::endless) return;
          join({more, bytes - above.output_gradient - above.windows, below.bytes, cost + below.cost, 0}, tapes ? 2 : 1,
               !(tapes && ways.table.items[end - 1].reads_output));
        };
        ways.splits({at, end, {owns, false}}, offer, end);
        if (level == 0 || k + 1 < n) continue;
        const partial_schedules<Kinds>& smaller = find.partials_of({at, end, level, owns});
        for (std::size_t i = 0; i < 2 * Kinds; ++i)
          if (smaller.of[i].cost != partial_schedule::endless)
            join(smaller.of[i], 3 + i, partial_schedules<Kinds>::upper_owns(i));
      }
    up_to.items[n].finish();
  }
  out = up_to.items[count];
}

} // namespace cairn::detail
