// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/convert/convert.hpp>
#include <cairn/ops/elementwise/cpu.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::ops {

template <class To, class From>
void convert(cpu::queue& queue, std::size_t count, To* to, const From* from) {
  constexpr std::size_t length = detail::element_part;
  queue.parallel_for((count + length - 1) / length, [&](std::size_t part, auto) {
    const std::size_t end = std::min(count, (part + 1) * length);
    for (std::size_t i = part * length; i < end; ++i) to[i] = static_cast<To>(from[i]);
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
