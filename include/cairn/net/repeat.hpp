// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace cairn {

// N blocks of the same type one after another, each with parameters of its own. The block's output must have the
// shape of its input. It costs the compiler one block, not N.
template <std::size_t N, class Block>
struct Repeat {};

} // namespace cairn
