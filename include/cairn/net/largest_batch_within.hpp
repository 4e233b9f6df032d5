// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/rooms.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/net/solved_step.hpp>
#include <cairn/plan/op.hpp>
#include <cairn/plan/solve/cost_table.hpp>

namespace cairn::types {

// A batch that fits into some bytes: those of its arena, and the cost of its step, where storing everything costs 1. All are 0
// if none fits.
struct fitting_batch {
  std::size_t batch = 0;
  std::size_t bytes = 0;
  double cost = 0;
};

} // namespace cairn::types

namespace cairn::detail {

// Solves a curve only if not everything can be stored.
template <class Model, std::size_t Batch, class T>
fitting_batch fit_batch(std::size_t bytes, double excess, std::span<const stage_cost> costs) {
  using curve = memory_curve<Model, Batch, T>;
  using plan = typename curve::plan;
  const bool are_costs = costs.empty() || costs.size() == plan::size; // else the curve says what is wrong
  if (are_costs && plan::trained::arena <= bytes) return {Batch, plan::trained::arena, 1};
  const curve solved(costs);
  const auto stored = static_cast<double>(solved.cost_of(plan::training.ops()));
  if (solved.size() == 0 || solved[0].bytes > bytes) return {};
  const auto step = solved.within(bytes);
  const auto cost = static_cast<double>(solved.cost_of(step.plan.training.ops())) / stored;
  return cost <= 1 + excess ? fitting_batch{Batch, step.plan.memory.arena, cost} : fitting_batch{};
}

} // namespace cairn::detail

namespace cairn::plan {

// largest_batch at run time: of these batches, the largest of which a step fits into `bytes` and costs at most `excess` more
// than one that stores everything, solved by a memory_curve for each. The bytes are known only then, or the costs are measured.
//
//   const auto costs = plan::measured_costs<Net, 64>(); // on this machine; without them costs are FLOPs
//   const auto fits = plan::largest_batch_within<Net, 16, 32, 64, 128>(free_bytes, percent<20>, costs);
//
// `costs` may be those of any batch, as only their proportions matter. A trainer of each batch is a type of its own, so the
// program lists those that it was compiled for, and takes memory_curve<Net, 64>::within(bytes) as the schedule of the one. A
// policy around the whole network is ignored. A type before the batches is that of the elements: <Net, double, 16, 32>.
template <class Model, class T, std::size_t... Batches>
types::fitting_batch largest_batch_within(std::size_t bytes, double excess, std::span<const stage_cost> costs = {}) {
  static_assert(sizeof...(Batches) > 0, "largest_batch_within: it chooses among batches; write some after the model");
  using fit = types::fitting_batch (*)(std::size_t, double, std::span<const stage_cost>);
  struct candidate {
    std::size_t batch;
    fit solve;
  };
  std::array<candidate, sizeof...(Batches)> all{{{Batches, &detail::fit_batch<Model, Batches, T>}...}};
  std::sort(all.begin(), all.end(), [](const candidate& a, const candidate& b) { return a.batch > b.batch; });
  for (const candidate& c : all)
    if (const types::fitting_batch found = c.solve(bytes, excess, costs); found.batch > 0) return found;
  return {};
}
template <class Model, std::size_t... Batches>
types::fitting_batch largest_batch_within(std::size_t bytes, double excess, std::span<const stage_cost> costs = {}) {
  return largest_batch_within<Model, float, Batches...>(bytes, excess, costs);
}

} // namespace cairn::plan
