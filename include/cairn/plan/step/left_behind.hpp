// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include <cairn/plan/step/step_op.hpp>

namespace cairn::detail {

// The state in which an exception leaves a step.
struct left_behind {
  bool gradients = false; // there are some: the step is given up, and so are the micro-batches before it
  bool is_final = false;  // other ranks have seen part of it, or parameters may have changed: no step may follow it
  bool by_all = false;    // thrown where the ranks compare: all of them see the difference, and can set it right
};

// The properties of a job's ranks that matter here.
struct other_ranks {
  bool wait_for_step = false;       // gradients are reduced: a ddp
  bool wait_for_statistics = false; // statistics are summed, and there are other ranks
};

// Finds it from the ops that have begun; the exception was thrown in the last of them. Before gradients are made, nothing is
// left behind. From `facts` on the other ranks wait for this step's calls; with sync_batch_norm, from its first statistics on.
// After the comparison parameters are updated.
constexpr left_behind left_behind_by(std::span<const step_op> list, std::size_t begun, const other_ranks& others) {
  left_behind out;
  for (std::size_t i = 0; i < begun; ++i) {
    const bool is_over = i + 1 < begun;
    switch (list[i].kind) {
    case step_op_kind::loss: out.gradients = out.gradients || is_over; break;
    case step_op_kind::facts:
      out.gradients = true;
      out.is_final = out.is_final || others.wait_for_step;
      break;
    case step_op_kind::compare:
      out.by_all = !is_over;
      out.is_final = out.is_final || is_over;
      break;
    case step_op_kind::find: out.by_all = !is_over; break;
    default: break;
    }
  }
  // Statistics are made inside of the op before them.
  std::size_t made = begun;
  while (begun > 0 && made < list.size() && list[made].is_inside) ++made;
  for (std::size_t i = 0; i < made; ++i)
    if (list[i].kind == step_op_kind::statistics && others.wait_for_statistics) out.gradients = out.is_final = true;
  return out;
}

} // namespace cairn::detail
