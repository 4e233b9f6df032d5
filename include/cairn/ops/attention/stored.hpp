// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/rooms.hpp>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// attention_forward() and attention_backward() with the probabilities in memory: (samples, heads, queries, keys), in place of a
// number for each query. Backward reads them, so it has 4 products of these extents where it has 5 else, and no exponentials.
// The output has the bits of attention_forward(); gradients differ by rounding. The probability of a key that a query may not
// look at is 0, or is neither written nor read. Null if not wanted.
template <class T>
void stored_attention_forward(detail::queue_without_this_op, const attention_extents& of, T* output, T* probabilities,
                              const attention_operands<const T>& in) = delete;

template <class T>
void stored_attention_backward(detail::queue_without_this_op, const attention_extents& of, const attention_operands<T>& gradients,
                               const T* output_gradient, const T* output, const T* probabilities,
                               const attention_operands<const T>& in) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept stored_attention_runs_on = requires(Queue& queue, const attention_extents& of, T* y, const T* x,
                                            const attention_operands<const T>& in, const attention_operands<T>& gradients) {
  stored_attention_forward(queue, of, y, y, in);
  stored_attention_backward(queue, of, gradients, x, x, x, in);
};

} // namespace cairn::detail
