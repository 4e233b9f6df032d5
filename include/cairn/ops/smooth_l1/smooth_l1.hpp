// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

// With d = y - t and beta > 0, as torch.nn.SmoothL1Loss; with beta = 0 it is l1.
//   *loss = sum (|d| < beta ? d^2 / (2 beta) : |d| - beta / 2) / count        added up in double
//   output_gradient = (|d| < beta ? d / beta : sign(d)) / count               not computed when it is null; may
//                                                                             lie on the output
//
// All are `count` elements; of none the loss is 0.
template <class T>
void smooth_l1(detail::queue_without_this_op, double* loss, T* output_gradient, std::size_t count, const T* output,
               const accumulated<T>* targets, double beta) = delete;

} // namespace cairn
