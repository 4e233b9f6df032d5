// SPDX-License-Identifier: MIT
#pragma once

namespace cairn {

// copy(queue, count, to, from): `count` numbers, as they are. Nothing happens when both are the same place;
// else the two must not overlap.

} // namespace cairn
