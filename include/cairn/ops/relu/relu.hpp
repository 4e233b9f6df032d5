// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

// y = x < 0 ? 0 : x, so NaN stays NaN, as in torch. The bits are those of a product with activation::relu.
// `count` elements each; the output may lie on the input.
template <class T>
void relu_forward(detail::queue_without_this_op, std::size_t count, T* output, const T* input) = delete;

// dx = y <= 0 ? 0 : dy, as a product with a mask does it: the derivative at 0 is 0, and where y is NaN dy comes through,
// as in torch. The input gradient may lie on the output gradient.
template <class T>
void relu_backward(detail::queue_without_this_op, std::size_t count, T* input_gradient, const T* output_gradient,
                   const T* output) = delete;

} // namespace cairn
