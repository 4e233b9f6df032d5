// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// -w t log p - (1 - t) log(1 - p) for p = 1 / (1 + e^-x) and a target of 0 to 1, as torch.nn.BCEWithLogitsLoss with pos_weight: a
// weight for the targets of 1 in each of `columns`, the innermost extent. Element i has w = positive_weights[i % columns].
// Computed in a form that neither overflows nor cancels:
//   *loss = sum (1 - t) x + (1 + (w - 1) t) (max(-x, 0) + log(1 + e^-|x|)) / count      added up in double
//   output_gradient = scale (1 - t - (1 + (w - 1) t) / (1 + e^x)) / count                not computed when it is null; may lie
//                                                                                        on the output
// Output, gradient and targets have `count` elements; with none the loss is 0. The scale is a number in the
// device's memory; null: 1.
template <class T>
void bce_with_logits(detail::queue_without_this_op, double* loss, T* output_gradient, std::size_t count, const T* output,
                     const accumulated<T>* targets, const accumulated<T>* positive_weights, std::size_t columns,
                     const double* gradient_scale = nullptr) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has this op of elements of type T.
template <class Queue, class T>
concept bce_with_logits_runs_on =
    requires(Queue& queue, double* loss, std::size_t n, T* y, const T* x, const accumulated<T>* targets) {
      bce_with_logits(queue, loss, y, n, x, targets, targets, n);
    };

} // namespace cairn::detail
