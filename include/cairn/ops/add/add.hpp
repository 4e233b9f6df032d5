// SPDX-License-Identifier: MIT
#pragma once

namespace cairn {

// add(queue, count, sum, a, b): sum = a + b, `count` numbers each. The sum may lie on a or on b.

} // namespace cairn
