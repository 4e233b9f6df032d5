// SPDX-License-Identifier: MIT
#pragma once

namespace cairn {

// squared_norm(queue, sum, x, count): *sum = sum of x_i^2, squared and added up in double. The order of the
// additions depends on count only, so the bits do not depend on the number of threads.

} // namespace cairn
