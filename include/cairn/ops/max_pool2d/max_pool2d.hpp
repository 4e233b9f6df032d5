// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>
#include <cairn/ops/window.hpp>

namespace cairn::ops {

// Images are stored as (batch, height, width, channels). Every element of the output is the greatest in its window, channel by
// channel. Padding does not count, and a NaN is greater than all. The same as torch.nn.functional.max_pool2d.
template <class T>
void max_pool2d_forward(detail::queue_without_this_op, const window& over, std::size_t samples, std::size_t channels, T* output,
                        const T* input) = delete;

// The gradient of each output goes to the input that was the greatest: the first of several equal ones, or the last NaN if
// there is one. The gradient of an input is the sum over the windows in which it was the greatest, in their order. The windows
// are searched again, as storing the places would take as much memory as the output.
template <class T>
void max_pool2d_backward(detail::queue_without_this_op, const window& over, std::size_t samples, std::size_t channels,
                         T* input_gradient, const T* output_gradient, const T* input) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept max_pool2d_runs_on = requires(Queue& queue, std::size_t n, T* y, const T* x, const window& over) {
  max_pool2d_forward(queue, over, n, n, y, x);
  max_pool2d_backward(queue, over, n, n, y, x, x);
};

} // namespace cairn::detail
