// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace cairn {

// How many samples a step has room for, as a type: the memory plan is made from it. It is a capacity; a step takes
// any number of rows from 1 up to it.
template <std::size_t N>
struct batch {
  static_assert(N > 0, "batch: a batch needs room for at least one sample; write batch<1> or more");
  static constexpr std::size_t size = N;
};

} // namespace cairn
