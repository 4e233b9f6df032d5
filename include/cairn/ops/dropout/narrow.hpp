// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/dropout/cpu.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::ops {

// 16-bit elements: multiplied in float and rounded once.
template <detail::narrow_element T>
void dropout(cpu::queue& queue, std::size_t count, T* result, const T* x, const types::random_key& key,
             const dropout_rate& rate) {
  using wide = accumulated<T>;
  constexpr std::size_t piece = 2048;
  queue.parallel_for((count + piece - 1) / piece, [&](std::size_t part, auto) {
    alignas(64) wide factors[piece];
    const std::size_t begin = part * piece, length = std::min(piece, count - begin);
    constexpr std::size_t group = 4 * detail::random_lanes;
    detail::write_factors_plain(factors, (length + group - 1) / group * group, key, begin, rate);
    for (std::size_t i = 0; i < length; ++i) result[begin + i] = static_cast<T>(static_cast<wide>(x[begin + i]) * factors[i]);
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
