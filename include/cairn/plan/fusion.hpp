// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include <cairn/plan/op.hpp>

namespace cairn::detail {

// The next op that does work, or ops.size().
constexpr std::size_t next_work(std::span<const op> ops, std::size_t t) {
  const op* const all = ops.data();
  const std::size_t count = ops.size();
  for (++t; t < count && all[t].kind >= op_kind::discard_value;) ++t;
  return t;
}

// Is value k discarded between op t and the next one that does work? Then op t is the last to read it.
constexpr bool value_ends(std::span<const op> ops, std::size_t t, std::size_t k) {
  const op* const all = ops.data();
  const std::size_t count = ops.size();
  for (++t; t < count && all[t].kind >= op_kind::discard_value; ++t) // is_discard()
    if (all[t].kind == op_kind::discard_value && all[t].position == k) return true;
  return false;
}

// Can the forward at t apply the activation whose forward is at u? Its own value is then never written, so nothing else
// may read it.
constexpr bool takes_forward(const chain& c, std::span<const op> ops, std::size_t t, std::size_t u) {
  const op& next = ops[u];
  return next.position == ops[t].position + 1 && next.wants_output && !next.wants_tape && c.in_place_forward(next.position) &&
         value_ends(ops, u, next.position);
}

// Can the backward at t multiply its input gradient by the derivative of the activation whose backward is at u? It
// takes the derivative at the activation's output, which is its own input. An input gradient that others own
// lies elsewhere.
constexpr bool takes_backward(const chain& c, std::span<const op> ops, std::size_t t, std::size_t u) {
  const op& o = ops[t];
  const op& next = ops[u];
  return next.position + 1 == o.position && c[o.position].reads_input && c.in_place_backward(next.position) &&
         !c[next.position].keeps_tape() && next.wants_input_gradient && !(c.lent_input_gradient && next.position == 0);
}

// Lets a product also do the activation after it, and the derivative of the activation before it, if that is the very next op
// and works in place.
constexpr void fuse(const chain& c, std::span<op> ops) {
  op* const all = ops.data();
  const std::size_t count = ops.size();
  const stage* const stages = c.stages.data();
  for (std::size_t t = 0; t < count; ++t) {
    op& o = all[t];
    const bool forward = o.kind == op_kind::forward;
    if (o.absorbed || (!forward && o.kind != op_kind::backward) || !stages[o.position].fuses) continue;
    const std::size_t u = next_work(ops, t);
    if (u == count || all[u].kind != o.kind || stages[all[u].position].as_activation == 0) continue;
    o.takes_next = forward ? takes_forward(c, ops, t, u) : takes_backward(c, ops, t, u);
    all[u].absorbed = o.takes_next;
  }
}

} // namespace cairn::detail
