// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/embedding/embedding.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::ops {

// 16-bit elements: rows are added in float, in ascending order.
template <detail::narrow_element T>
void embedding_backward(cpu::queue& queue, std::size_t count, std::size_t vocabulary, std::size_t width,
                        accumulated<T>* weight_gradient, const T* output_gradient, const std::int32_t* indices) {
  using wide = accumulated<T>;
  std::fill_n(weight_gradient, vocabulary * width, wide{0});
  detail::for_each_strip(queue, count, width, [&](std::size_t begin, std::size_t columns) {
    for (std::size_t i = 0; i < count; ++i) {
      wide* const to = weight_gradient + static_cast<std::size_t>(indices[i]) * width + begin;
      const T* const row = output_gradient + i * width + begin;
      for (std::size_t j = 0; j < columns; ++j) to[j] += static_cast<wide>(row[j]);
    }
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
