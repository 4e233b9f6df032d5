// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/squared_norm/squared_norm.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::ops {

// 16-bit elements are widened a piece at a time.
template <class T>
void squared_norm(cpu::queue& queue, double* sum, const T* x, std::size_t count) {
  using wide = accumulated<T>;
  constexpr std::size_t grain = 4096, piece = 1024;
  *sum = detail::sum_of_parts(queue, count, grain, [&](std::size_t begin, std::size_t end, auto) {
    const auto sum_of = [](const wide* first, std::size_t length) {
      return detail::sum_in_lanes(length, [first](std::size_t i) __attribute__((always_inline)) {
        const auto value = static_cast<double>(first[i]);
        return value * value;
      });
    };
    if constexpr (!detail::is_narrow<T>) {
      return sum_of(x + begin, end - begin);
    } else {
      detail::widened_row<T, piece> own;
      double part = 0;
      for (std::size_t i = begin; i < end; i += piece) {
        const std::size_t length = std::min(piece, end - i);
        part += sum_of(own.read(x + i, length), length);
      }
      return part;
    }
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
