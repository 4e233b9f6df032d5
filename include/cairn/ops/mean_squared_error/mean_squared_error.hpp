// SPDX-License-Identifier: MIT
#pragma once

namespace cairn {

// mean_squared_error(queue, loss, output_gradient, count, output, targets)
//   *loss = sum (y - t)^2 / count               added up in double
//   output_gradient = 2 (y - t) / count         not computed when it is null; may lie on the output
//
// All are `count` numbers; of none the loss is 0.

} // namespace cairn
