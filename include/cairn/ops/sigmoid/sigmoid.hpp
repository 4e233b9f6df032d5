// SPDX-License-Identifier: MIT
#pragma once

namespace cairn {

// sigmoid_forward(queue, count, output, input)
//   y = 1 / (1 + e^-x), within 4e-7 relative for float.
//
// sigmoid_backward(queue, count, input_gradient, output_gradient, output)
//   dx = dy y (1 - y)
//
// All are `count` numbers. The result may lie on the gradient or on the input.

} // namespace cairn
