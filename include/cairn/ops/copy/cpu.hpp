// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <cairn/device/cpu.hpp>
#include <cairn/ops/copy/copy.hpp>

namespace cairn {

template <class T>
void copy(cpu::queue& queue, std::size_t count, T* to, const T* from) {
  if (to == from) return;
  constexpr std::size_t longest = 1_MiB / sizeof(T); // shorter parts cost more to hand out than to copy
  queue.parallel_for((count + longest - 1) / longest, [&](std::size_t part, auto) {
    const std::size_t begin = part * longest;
    std::memcpy(to + begin, from + begin, std::min(longest, count - begin) * sizeof(T));
  });
}

} // namespace cairn
