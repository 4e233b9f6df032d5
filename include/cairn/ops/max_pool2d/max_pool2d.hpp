// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/ops/queue_without_this_op.hpp>
#include <cairn/ops/window.hpp>

namespace cairn {

// Images lie as (batch, height, width, channels). Every element of the output is the greatest in its window, channel by channel;
// what is beside the image does not count, and a NaN is greater than all. As torch.nn.functional.max_pool2d.
template <class T>
void max_pool2d_forward(detail::queue_without_this_op, const window& over, std::size_t samples, std::size_t channels, T* output,
                        const T* input) = delete;

// The gradient of each output goes to the element that it is, to the first of several that are equal, and to the last NaN where
// there is one; that of an input is the sum over the windows in which it counts, in their order. The windows are looked through
// once more, as remembering places would take as much memory as the output.
template <class T>
void max_pool2d_backward(detail::queue_without_this_op, const window& over, std::size_t samples, std::size_t channels,
                         T* input_gradient, const T* output_gradient, const T* input) = delete;

} // namespace cairn
