// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// y_j = e^(x_j - m) / sum_k e^(x_k - m)  for each row of x (rows, columns), m being its maximum
//
// The output may lie on the input. Subtracting the maximum first keeps every exponential in (0, 1]. They are added up in double.
// A row with NaN or infinity, or of -infinity alone, becomes NaN, as in torch.
template <class T>
void softmax_forward(detail::queue_without_this_op, std::size_t rows, std::size_t columns, T* output, const T* input) = delete;

// dx_j = y_j (dy_j - sum_k dy_k y_k)
//
// The input gradient may lie on the output gradient.
template <class T>
void softmax_backward(detail::queue_without_this_op, std::size_t rows, std::size_t columns, T* input_gradient,
                      const T* output_gradient, const T* output) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept softmax_runs_on = requires(Queue& queue, std::size_t n, T* y, const T* x) {
  softmax_forward(queue, n, n, y, x);
  softmax_backward(queue, n, n, y, x, x);
};

} // namespace cairn::detail
