// SPDX-License-Identifier: MIT
#pragma once

namespace cairn {

// gelu_forward(queue, count, output, input)
//   y = x P(x), where P(x) = (1 + erf(x / sqrt 2)) / 2 is how much of the normal distribution lies below x
//
// gelu_backward(queue, count, input_gradient, output_gradient, input)
//   dx = dy (P(x) + x p(x)) with p(x) = e^(-x^2/2) / sqrt(2 pi)
//
// This is torch's approximate="none" (Hendrycks, Gimpel: Gaussian error linear units. arXiv:1606.08415). For
// float it is within 1e-6 relative down to x = -5, where the formula with erf cancels.
//
// All are `count` numbers. The result may lie on the gradient or on the input.

} // namespace cairn
