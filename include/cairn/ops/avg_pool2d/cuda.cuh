// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/ops/avg_pool2d/avg_pool2d.hpp>
#include <cairn/ops/elementwise/cuda_pixels.cuh>

namespace cairn {

namespace detail {

template <class T>
CAIRN_DEVICE T share_of(const mean_range& y, const mean_range& x) {
  const std::size_t divisor = y.divisor * x.divisor;
  return divisor == 0 ? T{0} : T{1} / static_cast<T>(divisor);
}

// One quad of the output each.
template <class T>
struct avg_pool_output {
  window over;
  mean_of which;
  quad_of_pixel<T> where;
  T* output;
  const T* input;
  CAIRN_DEVICE void operator()(std::size_t index) const {
    const auto at = where.at(index);
    const mean_range y = range_of(over.y, which, at.row), x = range_of(over.x, which, at.column);
    const std::size_t image = at.image * over.inputs();
    quad<T> sum{};
    for (std::size_t row = y.begin; row < y.end; ++row)
      for (std::size_t column = x.begin; column < x.end; ++column) {
        const quad<T> v = where.load(input, image + row * over.x.in + column, at.channel);
        for (std::size_t j = 0; j < quad_width<T>; ++j) sum.at[j] += v.at[j];
      }
    const T share = share_of<T>(y, x);
    for (std::size_t j = 0; j < quad_width<T>; ++j) sum.at[j] *= share;
    where.store(output, sum, at.pixel, at.channel);
  }
};
// The outputs [begin, end) of an axis among which are all whose windows have this input.
struct outputs_having {
  std::size_t begin, end;
  CAIRN_DEVICE outputs_having(const window_axis& a, mean_of which, std::size_t input) {
    if (which == mean_of::adaptive) {
      begin = input * a.out / a.in;
      end = ((input + 1) * a.out + a.in - 1) / a.in;
    } else {
      const std::size_t place = input + a.padding;
      begin = place < a.kernel ? 0 : (place - a.kernel) / a.stride + 1;
      end = place / a.stride + 1 < a.out ? place / a.stride + 1 : a.out;
    }
  }
};
// One quad of the input each: the windows that it is in, in their order.
template <class T>
struct avg_pool_input_gradient {
  window over;
  mean_of which;
  quad_of_pixel<T> where;
  T* input_gradient;
  const T* output_gradient;
  CAIRN_DEVICE void operator()(std::size_t index) const {
    const auto at = where.at(index);
    const outputs_having rows(over.y, which, at.row), columns(over.x, which, at.column);
    quad<T> sum{};
    for (std::size_t p = rows.begin; p < rows.end; ++p) {
      const mean_range y = range_of(over.y, which, p);
      for (std::size_t q = columns.begin; y.begin <= at.row && at.row < y.end && q < columns.end; ++q) {
        const mean_range x = range_of(over.x, which, q);
        if (at.column < x.begin || at.column >= x.end) continue;
        const quad<T> dy = where.load(output_gradient, at.image * over.outputs() + p * over.x.out + q, at.channel);
        const T share = share_of<T>(y, x);
        for (std::size_t j = 0; j < quad_width<T>; ++j) sum.at[j] += dy.at[j] * share;
      }
    }
    where.store(input_gradient, sum, at.pixel, at.channel);
  }
};

} // namespace detail

template <std::floating_point T>
void avg_pool2d_forward(cuda::queue& queue, const window& over, mean_of which, std::size_t samples, std::size_t channels,
                        T* output, const T* input) {
  const auto where = detail::quads_of_outputs<T>(over, channels, detail::rows_are_quads<T>(channels, output, input));
  detail::launch_each(queue, "avg_pool2d_forward", samples * over.outputs() * where.quads.by(),
                      detail::avg_pool_output<T>{over, which, where, output, input});
}

template <std::floating_point T>
void avg_pool2d_backward(cuda::queue& queue, const window& over, mean_of which, std::size_t samples, std::size_t channels,
                         T* input_gradient, const T* output_gradient) {
  const bool aligned = detail::rows_are_quads<T>(channels, input_gradient, output_gradient);
  const auto where = detail::quads_of_inputs<T>(over, channels, aligned);
  detail::launch_each(queue, "avg_pool2d_backward", samples * over.inputs() * where.quads.by(),
                      detail::avg_pool_input_gradient<T>{over, which, where, input_gradient, output_gradient});
}

} // namespace cairn
