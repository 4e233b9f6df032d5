// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/avg_pool2d/avg_pool2d.hpp>
#include <cairn/ops/avg_pool2d/cpu.hpp>

namespace cairn {

namespace detail {

// One element of the output each.
template <class T>
struct avg_pool_output {
  window over;
  mean_of which;
  std::size_t channels;
  T* output;
  const T* input;
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t pixel = at / channels;
    const mean_window of(over, which, pixel % over.outputs());
    const T* const image = input + pixel / over.outputs() * over.inputs() * channels + at % channels;
    T sum = 0;
    for (std::size_t row = of.y.begin; row < of.y.end; ++row)
      for (std::size_t column = of.x.begin; column < of.x.end; ++column) sum += image[(row * over.x.in + column) * channels];
    output[at] = sum * static_cast<T>(of.share);
  }
};
// One element of the input each: the windows that it is in, in their order.
template <class T>
struct avg_pool_input_gradient {
  window over;
  mean_of which;
  std::size_t channels;
  T* input_gradient;
  const T* output_gradient;
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t c = at % channels, image = at / channels / over.inputs(), pixel = at / channels % over.inputs();
    const std::size_t row = pixel / over.x.in, column = pixel % over.x.in;
    T sum = 0;
    for (std::size_t p = 0; p < over.y.out; ++p) {
      const mean_range y = range_of(over.y, which, p);
      for (std::size_t q = 0; y.begin <= row && row < y.end && q < over.x.out; ++q) {
        const std::size_t output = p * over.x.out + q;
        const mean_window of(over, which, output);
        if (of.x.begin <= column && column < of.x.end)
          sum += output_gradient[(image * over.outputs() + output) * channels + c] * static_cast<T>(of.share);
      }
    }
    input_gradient[at] = sum;
  }
};

} // namespace detail

template <std::floating_point T>
void avg_pool2d_forward(cuda::queue& queue, const window& over, mean_of which, std::size_t samples, std::size_t channels,
                        T* output, const T* input) {
  detail::launch_each(queue, "avg_pool2d_forward", samples * over.outputs() * channels,
                      detail::avg_pool_output<T>{over, which, channels, output, input});
}

template <std::floating_point T>
void avg_pool2d_backward(cuda::queue& queue, const window& over, mean_of which, std::size_t samples, std::size_t channels,
                         T* input_gradient, const T* output_gradient) {
  detail::launch_each(queue, "avg_pool2d_backward", samples * over.inputs() * channels,
                      detail::avg_pool_input_gradient<T>{over, which, channels, input_gradient, output_gradient});
}

} // namespace cairn
