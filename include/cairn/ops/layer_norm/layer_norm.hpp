// SPDX-License-Identifier: MIT
#pragma once

namespace cairn {

// Each row of x (rows, features) has a mean m and a variance s^2 (divided by features), and r = 1 / sqrt(s^2
// + eps).
//
// layer_norm_forward(queue, rows, features, eps, output, statistics, input, weight, bias)
//   y = (x - m) r w + b                statistics is (rows, 2), m and r of each row; null: not wanted
//
// layer_norm_backward(queue, rows, features, input_gradient, weight_gradient, bias_gradient,
//                     output_gradient, input, statistics, weight)
//   dw = sum over rows of dy h,  db = sum over rows of dy,             with h = (x - m) r
//   dx = r (g - mean(g) - h mean(g h)),  the means over a row,         with g = dy w
//
// The output may lie on the input and the input gradient on the output gradient; a null input gradient is not
// computed. Means are added up in double; a row is read twice for the variance, as E[x^2] - m^2 would cancel
// (Ba, Kiros, Hinton: Layer normalization. arXiv:1607.06450).

} // namespace cairn
