// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/plan_route.hpp>
#include <cairn/plan/run_time_plan.hpp>
#include <cairn/plan/solve/solver.hpp>

namespace cairn::plan {

// The cheapest schedule of a solved chain whose arena, as it is laid out, has at most `bytes`. If there is none, throws an
// error that states the least possible number: of all schedules of a short chain, else of those that are solved.
template <class = void> // compiled by programs that call it
detail::run_time_plan plan_within(const chain& c, const solver& solved, std::size_t bytes) {
  const std::size_t best = solved.within(bytes);
  for (std::size_t i = best == solved.size() ? 0 : best + 1; i-- > 0;) {
    detail::run_time_plan found = detail::plan_route(c, solved.route_of(i));
    if (found.memory.arena > bytes) continue;
    if (solved[best].cost > 0) found.over_best = static_cast<double>(solved[i].cost) / static_cast<double>(solved[best].cost);
    return found;
  }
  std::size_t least = solved.size() == 0 ? 0 : static_cast<std::size_t>(-1);
  for (std::size_t i = 0; i < solved.size() && solved[i].bytes < least; ++i) {
    const std::size_t arena = detail::plan_route(c, solved.route_of(i)).memory.arena;
    if (arena < least) least = arena;
  }
  const auto text = [](std::size_t number) {
    return std::to_string(number) + " bytes (" + std::to_string(number / 1024 + (number % 1024 == 0 ? 0 : 1)) + " KiB)";
  };
  throw input_error("budget: expected a budget of at least " + text(least) +
                    ", the least that any schedule of this network needs, found " + text(bytes) +
                    "; give it more, or take a smaller batch");
}

#if CAIRN_HAS_COMPILED
CAIRN_COMPILED template detail::run_time_plan plan_within(const chain&, const solver&, std::size_t);
#endif

} // namespace cairn::plan
