// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/memory_plan.hpp>
#include <cairn/plan/op.hpp>

namespace cairn::detail {

// The counterpart of plan_of for a route that is known only at run time: see plan_route.
struct run_time_plan {
  schedule<at_run_time> training{};
  memory_plan<at_run_time> memory{};
  double over_best = 1; // of a solved one: its cost over that of the cheapest schedule known for its bytes
};

} // namespace cairn::detail
