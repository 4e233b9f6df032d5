// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

// *loss = sum max(x, 0) - x t + log(1 + e^-|x|) / count      added up in double
// output_gradient = (1 / (1 + e^-x) - t) / count             not computed when it is null; may lie on the output
//
// -t log p - (1 - t) log(1 - p) for p = 1 / (1 + e^-x) and a target of 0 to 1, in the form that neither overflows nor
// cancels, as torch.nn.BCEWithLogitsLoss. All are `count` elements; of none the loss is 0.
template <class T>
void bce_with_logits(detail::queue_without_this_op, double* loss, T* output_gradient, std::size_t count, const T* output,
                     const accumulated<T>* targets) = delete;

// The same with a weight for the targets of 1 in each of `columns`, the innermost extent: element i has weights[i % columns].
//   *loss = sum (1 - t) x + (1 + (w - 1) t) (max(-x, 0) + log(1 + e^-|x|)) / count
//   output_gradient = (1 - t - (1 + (w - 1) t) / (1 + e^x)) / count
template <class T>
void bce_with_logits(detail::queue_without_this_op, double* loss, T* output_gradient, std::size_t count, const T* output,
                     const accumulated<T>* targets, const accumulated<T>* positive_weights, std::size_t columns) = delete;

} // namespace cairn
