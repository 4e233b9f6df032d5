// SPDX-License-Identifier: MIT
#pragma once

namespace cairn {

// scale(queue, count, result, x, factor): result = factor x, `count` numbers each. The result may lie on x.

} // namespace cairn
