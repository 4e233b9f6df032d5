// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

// y = tanh x, within 4e-7 relative for float. `count` elements each; the output may lie on the input.
template <class T>
void tanh_forward(detail::queue_without_this_op, std::size_t count, T* output, const T* input) = delete;

// dx = dy (1 - y^2). The input gradient may lie on the output gradient.
template <class T>
void tanh_backward(detail::queue_without_this_op, std::size_t count, T* input_gradient, const T* output_gradient,
                   const T* output) = delete;

} // namespace cairn
