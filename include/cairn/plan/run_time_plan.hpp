// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/memory_plan.hpp>
#include <cairn/plan/op.hpp>

namespace cairn::detail {

// What plan_of is for a constant, for a route that is known only when the program runs: see plan_route.
struct run_time_plan {
  schedule<at_run_time> training{};
  memory_plan<at_run_time> memory{};
};

} // namespace cairn::detail
