// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

// y = x P(x), where P(x) = (1 + erf(x / sqrt 2)) / 2 is how much of the normal distribution lies below x:
// torch's approximate="none" (Hendrycks, Gimpel: Gaussian error linear units. arXiv:1606.08415). For float it
// is within 1e-6 relative down to x = -5, where the formula with erf cancels. `count` elements each; the
// output may lie on the input.
template <class T>
void gelu_forward(detail::queue_without_this_op, std::size_t count, T* output, const T* input) = delete;

// dx = dy (P(x) + x p(x)) with p(x) = e^(-x^2/2) / sqrt(2 pi). The input gradient may lie on the output
// gradient.
template <class T>
void gelu_backward(detail::queue_without_this_op, std::size_t count, T* input_gradient, const T* output_gradient,
                   const T* input) = delete;

} // namespace cairn
