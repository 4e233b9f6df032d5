// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// y = (x - m) r w + b, where each row of x (rows, features) has a mean m and a variance s^2 (divided by
// features), and r = 1 / sqrt(s^2 + eps). `statistics` is (rows, 2), m and r of each row, or null if not wanted.
//
// The output may lie on the input. Means are added up in double; a row is read twice for the variance, as
// E[x^2] - m^2 would cancel (Ba, Kiros, Hinton: Layer normalization. arXiv:1607.06450).
template <class T>
void layer_norm_forward(detail::queue_without_this_op, std::size_t rows, std::size_t features, double eps, T* output,
                        accumulated<T>* statistics, const T* input, const T* weight, const T* bias) = delete;

// dw = sum over rows of dy h,  db = sum over rows of dy,             with h = (x - m) r
// dx = r (g - mean(g) - h mean(g h)),  the means over a row,         with g = dy w
//
// The input gradient may lie on the output gradient. If it is null, it is not computed. If the weight gradient is null, neither
// this nor the bias gradient is computed.
template <class T>
void layer_norm_backward(detail::queue_without_this_op, std::size_t rows, std::size_t features, T* input_gradient,
                         accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept layer_norm_runs_on =
    requires(Queue& queue, std::size_t n, T* y, const T* x, accumulated<T>* sum, const accumulated<T>* sums) {
      layer_norm_forward(queue, n, n, 1e-5, y, sum, x, x, x);
      layer_norm_backward(queue, n, n, y, sum, sum, x, x, sums, x);
    };

} // namespace cairn::detail
