// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/avg_pool2d/avg_pool2d.hpp>
#include <cairn/ops/avg_pool2d/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::ops {

// 16-bit elements: added up in double, one element at a time, and rounded at the end.

template <detail::narrow_element T>
void avg_pool2d_forward(cpu::queue& queue, const window& over, mean_of which, std::size_t samples, std::size_t channels,
                        T* output, const T* input) {
  detail::for_each_row(queue, samples * over.outputs(), channels * over.inputs(), [&](std::size_t pixel) {
    const detail::mean_window of(over, which, pixel % over.outputs());
    const T* const image = input + pixel / over.outputs() * over.inputs() * channels;
    for (std::size_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (std::size_t row = of.y.begin; row < of.y.end; ++row)
        for (std::size_t column = of.x.begin; column < of.x.end; ++column)
          sum += static_cast<double>(image[(row * over.x.in + column) * channels + c]);
      output[pixel * channels + c] = static_cast<T>(static_cast<accumulated<T>>(sum * of.share));
    }
  });
}

template <detail::narrow_element T>
void avg_pool2d_backward(cpu::queue& queue, const window& over, mean_of which, std::size_t samples, std::size_t channels,
                         T* input_gradient, const T* output_gradient) {
  detail::for_each_row(queue, samples * over.inputs(), channels * over.outputs(), [&](std::size_t pixel) {
    const std::size_t row = pixel % over.inputs() / over.x.in, column = pixel % over.x.in;
    const T* const gradients = output_gradient + pixel / over.inputs() * over.outputs() * channels;
    for (std::size_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (std::size_t output = 0; output < over.outputs(); ++output) {
        const detail::mean_window of(over, which, output);
        if (of.y.begin <= row && row < of.y.end && of.x.begin <= column && column < of.x.end)
          sum += static_cast<double>(gradients[output * channels + c]) * of.share;
      }
      input_gradient[pixel * channels + c] = static_cast<T>(static_cast<accumulated<T>>(sum));
    }
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
