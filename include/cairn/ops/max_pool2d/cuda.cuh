// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/conv2d/reference.hpp>
#include <cairn/ops/max_pool2d/cpu.hpp>
#include <cairn/ops/max_pool2d/max_pool2d.hpp>

namespace cairn {

namespace detail {

// The greatest element of a window of one channel, and which pixel of its image it is; over.inputs() where the window is empty.
template <class T>
struct greatest_in_window {
  T best;
  std::size_t pixel;

  // `image` begins with the channel's first element.
  CAIRN_DEVICE greatest_in_window(const window& over, std::size_t output, const T* image, std::size_t channels, T none)
      : best(none), pixel(over.inputs()) {
    bool first = true;
    for (std::size_t i = 0; i < over.y.kernel; ++i) {
      const std::size_t row = over.y.input(output / over.x.out, i);
      for (std::size_t j = 0; row < over.y.in && j < over.x.kernel; ++j) {
        const std::size_t column = over.x.input(output % over.x.out, j);
        if (column >= over.x.in) continue;
        const std::size_t at = row * over.x.in + column;
        const T value = image[at * channels];
        if (first || is_greater(value, best)) best = value, pixel = at;
        first = false;
      }
    }
  }
};

// One element of the output each.
template <class T>
struct max_pool_output {
  window over;
  std::size_t channels;
  T none; // of an empty window
  T* output;
  const T* input;
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t pixel = at / channels, image = pixel / over.outputs();
    const T* const from = input + image * over.inputs() * channels + at % channels;
    output[at] = greatest_in_window<T>(over, pixel % over.outputs(), from, channels, none).best;
  }
};
// One element of the input each: the windows that read it, in their order.
template <class T>
struct max_pool_input_gradient {
  window over;
  std::size_t channels;
  T none;
  T* input_gradient;
  const T *output_gradient, *input;
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t c = at % channels, image = at / channels / over.inputs(), pixel = at / channels % over.inputs();
    const T* const from = input + image * over.inputs() * channels + c;
    T sum = 0;
    for (std::size_t i = over.y.kernel; i-- > 0;) {
      const std::size_t p = output_reading(over.y, pixel / over.x.in, i);
      for (std::size_t j = over.x.kernel; p < over.y.out && j-- > 0;) {
        const std::size_t q = output_reading(over.x, pixel % over.x.in, j);
        if (q >= over.x.out) continue;
        const std::size_t output = p * over.x.out + q;
        if (greatest_in_window<T>(over, output, from, channels, none).pixel == pixel)
          sum += output_gradient[(image * over.outputs() + output) * channels + c];
      }
    }
    input_gradient[at] = sum;
  }
};

} // namespace detail

template <std::floating_point T>
void max_pool2d_forward(cuda::queue& queue, const window& over, std::size_t samples, std::size_t channels, T* output,
                        const T* input) {
  detail::launch_each(queue, "max_pool2d_forward", samples * over.outputs() * channels,
                      detail::max_pool_output<T>{over, channels, -std::numeric_limits<T>::infinity(), output, input});
}

template <std::floating_point T>
void max_pool2d_backward(cuda::queue& queue, const window& over, std::size_t samples, std::size_t channels, T* input_gradient,
                         const T* output_gradient, const T* input) {
  detail::launch_each(queue, "max_pool2d_backward", samples * over.inputs() * channels,
                      detail::max_pool_input_gradient<T>{over, channels, -std::numeric_limits<T>::infinity(), input_gradient,
                                                         output_gradient, input});
}

} // namespace cairn
