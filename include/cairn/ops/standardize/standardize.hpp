// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// y = (x - m) / s, where x and y are (rows, features), and m and s the mean and the deviation of a feature, which are given. Both
// steps are rounded, as in any program that writes this formula. Elements of 16 bits are computed in float and rounded once. The
// output may lie on the input.
template <class T>
void standardize(detail::queue_without_this_op, std::size_t rows, std::size_t features, T* output, const T* input,
                 const accumulated<T>* mean, const accumulated<T>* deviation) = delete;

// dx = dy / s. The input gradient may lie on the output gradient.
template <class T>
void standardize_backward(detail::queue_without_this_op, std::size_t rows, std::size_t features, T* input_gradient,
                          const T* output_gradient, const accumulated<T>* deviation) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept standardize_runs_on = requires(Queue& queue, std::size_t n, T* y, const T* x, const accumulated<T>* of) {
  standardize(queue, n, n, y, x, of, of);
  standardize_backward(queue, n, n, y, x, of);
};

} // namespace cairn::detail
