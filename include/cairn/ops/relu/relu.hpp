// SPDX-License-Identifier: MIT
#pragma once

namespace cairn {

// relu_forward(queue, count, output, input)
//   y = x < 0 ? 0 : x: NaN stays NaN, as in torch. The bits are those of a product with activation::relu.
//
// relu_backward(queue, count, input_gradient, output_gradient, output)
//   dx = y > 0 ? dy : 0: the derivative at 0 is 0, as in torch. As a product with a mask does it.
//
// All are `count` numbers. The result may lie on the gradient or on the input.

} // namespace cairn
