// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/convert/convert.hpp>
#include <cairn/ops/elementwise/conversions.hpp>
#include <cairn/ops/elementwise/cpu.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Whether To is what formulas of the 16-bit type From compute in.
template <class To, class From>
constexpr bool widens_to() {
  if constexpr (narrow_element<From>) return std::is_same_v<To, accumulated<From>>;
  else return false;
}
template <class To, class From>
inline constexpr bool widens = widens_to<To, From>();

} // namespace cairn::detail

namespace cairn::ops {

template <class To, class From>
void convert(cpu::queue& queue, std::size_t count, To* to, const From* from) {
  constexpr std::size_t length = detail::element_part;
  queue.parallel_for((count + length - 1) / length, [&](std::size_t part, auto) {
    const std::size_t begin = part * length, end = std::min(count, begin + length);
    if constexpr (detail::widens<To, From>) detail::widen(to + begin, from + begin, end - begin);
    else if constexpr (detail::widens<From, To>) detail::round_once(to + begin, from + begin, end - begin);
    else
      for (std::size_t i = begin; i < end; ++i) to[i] = static_cast<To>(from[i]);
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
