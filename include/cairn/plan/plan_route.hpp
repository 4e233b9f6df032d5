// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/core/plain_array.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/memory_plan.hpp>
#include <cairn/plan/proof.hpp>
#include <cairn/plan/route.hpp>
#include <cairn/plan/run_time_plan.hpp>
#include <cairn/plan/schedule.hpp>

namespace cairn::detail {

// The most looks at a buffer in one layout: at most a fifth of a second.
inline constexpr std::size_t most_effort = 20'000'000;

// Plans a route at run time, with the code that plan_of runs in the compiler, in an arena of any size. With less effort the
// arena is as large or larger. Throws an error if the route is not a forward pass along the chain and a backward pass.
inline run_time_plan lay_out_route(const chain& c, std::span<const route_step> moves, std::size_t effort) {
  for (std::size_t k = 0; k < moves.size(); ++k)
    if (moves[k].position >= c.size())
      throw input_error("plan_route: expected positions below " + std::to_string(c.size()) + ", the number of stages, found " +
                        std::to_string(moves[k].position) + " in step " + std::to_string(k) + " of the route");
  run_time_plan out;
  out.training = complete<at_run_time, at_run_time>(c, moves);
  const verdict v = prove<at_run_time>(c, out.training.ops());
  if (!v)
    throw error("plan_route: expected a route up the chain and back, found one with " + std::string(v.fault) + ", at op " +
                std::to_string(v.at));
  out.memory = lay_out<at_run_time, at_run_time>(c, out.training.ops(), out.training.loss, effort);
  return out;
}

// The same for a trainer, whose arena has at most 256 GiB.
inline run_time_plan plan_route(const chain& c, std::span<const route_step> moves) {
  run_time_plan out = lay_out_route(c, moves, most_effort);
  if (out.memory.arena > place::most_bytes)
    throw input_error("plan_route: expected an arena of at most 256 GiB, found " + std::to_string(out.memory.arena) +
                      " bytes; take a smaller batch");
  return out;
}

} // namespace cairn::detail
