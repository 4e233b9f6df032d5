// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/squared_norm/squared_norm.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::ops {

template <class T>
void squared_norm(cpu::queue& queue, double* sum, const T* x, std::size_t count) {
  *sum = detail::sum_of_parts(queue, count, 4096, [&](std::size_t begin, std::size_t end, auto) {
    const T* const first = x + begin;
    return detail::sum_in_lanes(end - begin, [first](std::size_t i) __attribute__((always_inline)) {
      const auto value = static_cast<double>(first[i]);
      return value * value;
    });
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
