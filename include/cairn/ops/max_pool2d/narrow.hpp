// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/max_pool2d/cpu.hpp>
#include <cairn/ops/max_pool2d/max_pool2d.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::ops {

// 16-bit elements: every input searches for the windows in which it is the greatest, so that its sum is made in float and
// rounded once. Forward only compares, and needs no version for them.
template <detail::narrow_element T>
void max_pool2d_backward(cpu::queue& queue, const window& over, std::size_t samples, std::size_t channels, T* input_gradient,
                         const T* output_gradient, const T* input) {
  using wide = accumulated<T>;
  detail::for_each_row(queue, samples * over.inputs(), channels * over.outputs(), [&](std::size_t pixel) {
    const std::size_t image = pixel / over.inputs();
    for (std::size_t c = 0; c < channels; ++c) {
      wide sum = 0;
      for (std::size_t output = 0; output < over.outputs(); ++output) {
        bool first = true;
        wide best = 0;
        std::size_t place = over.inputs();
        detail::for_each_tap(over, output, [&](std::size_t, std::size_t from) {
          const auto value = static_cast<wide>(input[(image * over.inputs() + from) * channels + c]);
          if (first || detail::is_greater(value, best)) best = value, place = from;
          first = false;
        });
        if (place == pixel % over.inputs())
          sum += static_cast<wide>(output_gradient[(image * over.outputs() + output) * channels + c]);
      }
      input_gradient[pixel * channels + c] = static_cast<T>(sum);
    }
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
