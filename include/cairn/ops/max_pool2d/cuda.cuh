// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/elementwise/cuda_pixels.cuh>
#include <cairn/ops/max_pool2d/cpu.hpp>
#include <cairn/ops/max_pool2d/max_pool2d.hpp>

namespace cairn::detail {

// The greatest elements of a window in the channels of one quad, and for each a bit that tells whether it is at the given
// row and column.
template <class T>
struct greatest_in_window {
  wide_quad<T> best{};
  std::uint32_t at_own = 0;

  // `image` is the first pixel of an image, counted over all images.
  CAIRN_DEVICE greatest_in_window(const window& over, const quad_of_pixel<T>& where, std::size_t p, std::size_t q, const T* input,
                                  std::size_t image, std::size_t channel, accumulated<T> none, std::size_t own_row,
                                  std::size_t own_column) {
    for (std::size_t j = 0; j < quad_width<T>; ++j) best.at[j] = none;
    bool first = true;
    for (std::size_t i = 0; i < over.y.kernel; ++i) {
      const std::size_t row = over.y.input(p, i);
      for (std::size_t k = 0; row < over.y.in && k < over.x.kernel; ++k) {
        const std::size_t column = over.x.input(q, k);
        if (column >= over.x.in) continue;
        const std::size_t at = row * over.x.in + column;
        const wide_quad<T> v = where.load(input, image + at, channel);
        for (std::size_t j = 0; j < quad_width<T>; ++j)
          if (first || is_greater(v.at[j], best.at[j])) {
            best.at[j] = v.at[j];
            at_own = (at_own & ~(std::uint32_t{1} << j)) | std::uint32_t{row == own_row && column == own_column} << j;
          }
        first = false;
      }
    }
  }
};

// One quad of the output per thread.
template <class T>
struct max_pool_output {
  window over;
  quad_of_pixel<T> where;
  accumulated<T> none; // the output of an empty window
  T* output;
  const T* input;
  CAIRN_DEVICE void operator()(std::size_t index) const {
    const auto at = where.at(index);
    const greatest_in_window<T> found(over, where, at.row, at.column, input, at.image * over.inputs(), at.channel, none,
                                      over.y.in, over.x.in);
    where.store(output, found.best, at.pixel, at.channel);
  }
};
// One quad of the input per thread: adds up the windows that read it, in their order.
template <class T>
struct max_pool_input_gradient {
  window over;
  readers_of_axis y, x;
  quad_of_pixel<T> where;
  accumulated<T> none;
  T* input_gradient;
  const T *output_gradient, *input;
  CAIRN_DEVICE void operator()(std::size_t index) const {
    const auto at = where.at(index);
    const std::size_t image = at.image * over.inputs();
    wide_quad<T> sum{};
    for (std::size_t i = over.y.kernel; i-- > 0;) {
      const std::size_t p = y.at(at.row, i);
      for (std::size_t k = over.x.kernel; p < over.y.out && k-- > 0;) {
        const std::size_t q = x.at(at.column, k);
        if (q >= over.x.out) continue;
        const greatest_in_window<T> found(over, where, p, q, input, image, at.channel, none, at.row, at.column);
        const wide_quad<T> dy = where.load(output_gradient, at.image * over.outputs() + p * over.x.out + q, at.channel);
        for (std::size_t j = 0; j < quad_width<T>; ++j)
          if ((found.at_own >> j & 1) != 0) sum.at[j] += dy.at[j];
      }
    }
    where.store(input_gradient, sum, at.pixel, at.channel);
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void max_pool2d_forward(cuda::queue& queue, const window& over, std::size_t samples, std::size_t channels, T* output,
                        const T* input) {
  const auto where = detail::quads_of_outputs<T>(over, channels, detail::rows_are_quads<T>(channels, output, input));
  detail::launch_each(queue, "max_pool2d_forward", samples * over.outputs() * where.quads.by(),
                      detail::max_pool_output<T>{over, where, -std::numeric_limits<accumulated<T>>::infinity(), output, input});
}

template <detail::floating_element T>
void max_pool2d_backward(cuda::queue& queue, const window& over, std::size_t samples, std::size_t channels, T* input_gradient,
                         const T* output_gradient, const T* input) {
  const bool aligned = detail::rows_are_quads<T>(channels, input_gradient, output_gradient, input);
  const auto where = detail::quads_of_inputs<T>(over, channels, aligned);
  detail::launch_each(queue, "max_pool2d_backward", samples * over.inputs() * where.quads.by(),
                      detail::max_pool_input_gradient<T>{over, over.y, over.x, where,
                                                         -std::numeric_limits<accumulated<T>>::infinity(), input_gradient,
                                                         output_gradient, input});
}

} // namespace cairn::ops
