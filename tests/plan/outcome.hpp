// SPDX-License-Identifier: MIT
// The plan of a route: its live bytes, its FLOPs, and its fault if it has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cairn/plan/memory_plan.hpp>
#include <cairn/plan/proof.hpp>
#include <cairn/plan/schedule.hpp>

namespace cairn::testing {

using namespace plan;

using namespace detail;

struct outcome {
  std::size_t bytes = 0;
  std::uint64_t cost = 0;
  const char* fault = nullptr;
};
inline outcome outcome_of(const chain& c, const std::vector<route_step>& moves) {
  const auto made = complete<at_run_time, at_run_time>(c, std::span<const route_step>(moves));
  const auto memory = detail::lay_out<at_run_time, at_run_time>(c, made.ops(), made.loss);
  return {memory.bound, flops(c, made.ops()), prove<at_run_time>(c, made.ops()).fault};
}

} // namespace cairn::testing
