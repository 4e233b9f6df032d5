// SPDX-License-Identifier: MIT
#pragma once

namespace cairn {

// tanh_forward(queue, count, output, input)
//   y = tanh x, within 4e-7 relative for float.
//
// tanh_backward(queue, count, input_gradient, output_gradient, output)
//   dx = dy (1 - y^2)
//
// All are `count` numbers. The result may lie on the gradient or on the input.

} // namespace cairn
