// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cairn/net/blueprint.hpp>
#include <cairn/net/solved_step.hpp>
#include <cairn/plan/op.hpp>
#include <cairn/plan/plan_route.hpp>
#include <cairn/plan/solve/solver.hpp>

namespace cairn {

// The cost of a training step of a network for every number of bytes that it may need, with the schedules: the whole curve from
// the least memory to store_all's time, from one solve. It is for budgets that are known only at run time, and for costs
// measured on this machine; a budget known at compile time can be checkpoint<budget<Bytes>, Net>.
//
//   const memory_curve<Net, 64> curve;
//   trainer<Net, CrossEntropyLoss, SGD, batch<64>> train{SGD{}, {.seed = 1, .schedule = curve.within(3_MiB)}};
//
// Blocks inside the network (Residual, nested checkpoints) are stages here, and keep the schedules that were compiled. A policy
// around the whole network is ignored. With a fused_update the bytes include the gradients in the arena.
template <class Model, std::size_t Batch, class T, class Update>
class memory_curve {
public:
  using net = typename detail::unplanned<Model>::type;
  using plan = blueprint_of<net, Batch, T, Update>;
  using element = T;
  using step = detail::solved_step_of<Model, Batch, T, Update>;

  // Costs are in FLOPs, unless `costs` has one for each stage: see measured_costs. progress(share) is called now and then with
  // the share that is solved, from 0 to 1.
  template <class Progress = detail::no_progress>
  explicit memory_curve(std::span<const cairn::plan::stage_cost> costs = {}, const cairn::plan::curve_limits& limits = {},
                        Progress&& progress = {})
      : costs_(costs.begin(), costs.end()), solved_(plan::whole, costs, limits, progress) {
    // An arena may be a little larger than what lives at once, so that the dearer of two schedules may need more. Such points
    // are left out.
    const std::size_t effort = detail::most_effort / (solved_.size() + 1);
    std::size_t least = limits.most;
    for (std::size_t i = solved_.size(); i-- > 0;) {
      const std::size_t arena = detail::lay_out_route(plan::whole, solved_.route_of(i), effort).memory.arena;
      if (arena > least || (!points_.empty() && arena == least)) continue;
      least = arena;
      points_.push_back({arena, solved_[i].cost});
    }
    std::reverse(points_.begin(), points_.end());
  }

  // The points from the least memory to the least cost: the bytes of an arena, as within() takes them, and the most that a step
  // costs in it.
  std::size_t size() const { return points_.size(); }
  cairn::plan::solver::point operator[](std::size_t i) const { return points_[i]; }

  // Returns the cheapest schedule whose arena is at most `bytes`. Throws an error if there is none, which says how many bytes
  // are needed.
  step within(std::size_t bytes) const { return {plan_within(plan::whole, solved_, bytes)}; }

  // The cost of any schedule of this network, in the unit of the curve.
  std::uint64_t cost_of(std::span<const detail::op> ops) const {
    if (costs_.empty()) return flops(plan::whole, ops);
    std::uint64_t sum = 0;
    for (const detail::op& o : ops) {
      if (o.kind != detail::op_kind::forward && o.kind != detail::op_kind::backward) continue;
      const cairn::plan::stage_cost& c = costs_[o.position];
      if (o.kind == detail::op_kind::backward) sum += c.backward;
      else sum += o.wants_output || !plan::whole[o.position].tape_without_output ? c.forward : c.tape;
    }
    return sum;
  }

private:
  std::vector<cairn::plan::stage_cost> costs_; // none: FLOPs
  cairn::plan::solver solved_;
  std::vector<cairn::plan::solver::point> points_;
};

} // namespace cairn
