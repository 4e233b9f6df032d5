// SPDX-License-Identifier: MIT
#pragma once

namespace cairn {

// column_sums(queue, sums, x): sums[j] = sum over rows i of x(i, j), added up in the order of the rows. sums
// is (columns of x) and is overwritten.

} // namespace cairn
