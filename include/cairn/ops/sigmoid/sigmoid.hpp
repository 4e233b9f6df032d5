// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

// y = 1 / (1 + e^-x), within 4e-7 relative for float. `count` elements each; the output may lie on the
// input.
template <class T>
void sigmoid_forward(detail::queue_without_this_op, std::size_t count, T* output, const T* input) = delete;

// dx = dy y (1 - y). The input gradient may lie on the output gradient.
template <class T>
void sigmoid_backward(detail::queue_without_this_op, std::size_t count, T* input_gradient, const T* output_gradient,
                      const T* output) = delete;

} // namespace cairn
