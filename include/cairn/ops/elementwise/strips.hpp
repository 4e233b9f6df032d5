// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

#include <cairn/device/cpu.hpp>

namespace cairn::detail {

// Sums over rows are cut into strips of this many columns: a strip of sums stays in the innermost cache, and
// a row of a strip is long enough for the memory to be read in order.
inline constexpr std::size_t strip = 512;

// f(begin, columns) for every strip.
template <class F>
void for_each_strip(cpu::queue& queue, std::size_t columns, F&& f) {
  queue.parallel_for((columns + strip - 1) / strip, [&](std::size_t part, auto) {
    f(part * strip, std::min(strip, columns - part * strip));
  });
}

} // namespace cairn::detail
