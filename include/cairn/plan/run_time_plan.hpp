// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/core/list.hpp>
#include <cairn/plan/memory_plan.hpp>
#include <cairn/plan/proof.hpp>
#include <cairn/plan/schedule.hpp>
#include <cairn/plan/solve/solver.hpp>

namespace cairn {

// What plan_of is for a constant, for a route that is known only when the program runs: the same code plans both.
struct run_time_plan {
  schedule<at_run_time> training{};
  memory_plan<at_run_time> memory{};
};

// Plans a route. Throws an error if it is no walk up the chain and back. (A template, as the next one, so that a file which
// calls neither does not pay for them.)
template <std::size_t Capacity = at_run_time>
run_time_plan plan_route(const chain& c, std::span<const move> moves) {
  run_time_plan out;
  out.training = complete<Capacity, Capacity>(c, moves);
  const verdict v = prove<Capacity>(c, out.training.ops());
  if (!v)
    throw error("plan_route: expected a route up the chain and back, found one with " + std::string(v.fault) +
                ", at op " + std::to_string(v.at));
  constexpr std::size_t effort = 20'000'000; // a fifth of a second at most
  out.memory = make_memory_plan<Capacity, Capacity>(c, out.training.ops(), out.training.turn, effort);
  return out;
}

// The cheapest schedule of a solved chain whose arena, as it is laid out, is at most so many bytes. Throws an error that
// states the least possible number if there is none: of all schedules of a short chain, else of those that are solved.
template <std::size_t Capacity>
run_time_plan plan_within(const chain& c, const basic_solver<Capacity>& solved, std::size_t bytes) {
  const std::size_t best = solved.within(bytes);
  for (std::size_t i = best == solved.size() ? 0 : best + 1; i-- > 0;) {
    run_time_plan found = plan_route(c, solved.route_of(i));
    if (found.memory.arena <= bytes) return found;
  }
  std::size_t least = solved.size() == 0 ? 0 : static_cast<std::size_t>(-1);
  for (std::size_t i = 0; i < solved.size() && solved[i].bytes < least; ++i) {
    const std::size_t arena = plan_route(c, solved.route_of(i)).memory.arena;
    if (arena < least) least = arena;
  }
  throw error("plan_within: expected a budget of at least " + std::to_string(least) +
              " bytes, the least that any schedule of this network needs, found " + std::to_string(bytes) +
              "; give it more, or take a smaller batch");
}

} // namespace cairn
