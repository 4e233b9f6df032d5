// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// y = x r w, where each row of x (rows, features) has r = 1 / sqrt(mean(x^2) + eps). `inverses` is (rows), the r of each row, or
// null if not wanted.
//
// The output may lie on the input. Squares are added up in double (Zhang, Sennrich: Root mean square layer normalization.
// arXiv:1910.07467).
template <class T>
void rms_norm_forward(detail::queue_without_this_op, std::size_t rows, std::size_t features, double eps, T* output,
                      accumulated<T>* inverses, const T* input, const T* weight) = delete;

// dw = sum over rows of dy h,                         with h = x r
// dx = r (g - h mean(g h)),  the mean over a row,     with g = dy w
//
// The input gradient may lie on the output gradient. A gradient that is null is not computed.
template <class T>
void rms_norm_backward(detail::queue_without_this_op, std::size_t rows, std::size_t features, T* input_gradient,
                       accumulated<T>* weight_gradient, const T* output_gradient, const T* input, const accumulated<T>* inverses,
                       const T* weight) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept rms_norm_runs_on =
    requires(Queue& queue, std::size_t n, T* y, const T* x, accumulated<T>* sum, const accumulated<T>* sums) {
      rms_norm_forward(queue, n, n, 1e-5, y, sum, x, x);
      rms_norm_backward(queue, n, n, y, sum, x, x, sums, x);
    };

} // namespace cairn::detail
