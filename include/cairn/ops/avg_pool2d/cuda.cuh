// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/avg_pool2d/avg_pool2d.hpp>
#include <cairn/ops/elementwise/cuda_pixels.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>

namespace cairn::detail {

template <class T>
CAIRN_DEVICE accumulated<T> share_of(const mean_range& y, const mean_range& x) {
  using wide = accumulated<T>;
  const std::size_t divisor = y.divisor * x.divisor;
  return divisor == 0 ? wide{0} : wide{1} / static_cast<wide>(divisor);
}

// The sum of quads one after another, in chains; see ops/elementwise/sums.hpp.
template <class T>
struct sum_of_quads {
  using wide = accumulated<T>;

  double total[quad_width<T>] = {};
  wide_quad<T> chain{};
  std::size_t in_chain = 0;

  CAIRN_DEVICE void add(const wide_quad<T>& v, wide factor) {
    for (std::size_t j = 0; j < quad_width<T>; ++j) chain.at[j] += v.at[j] * factor;
    if (++in_chain < rows_of_chain) return;
    for (std::size_t j = 0; j < quad_width<T>; ++j) total[j] += static_cast<double>(chain.at[j]);
    chain = {};
    in_chain = 0;
  }
  CAIRN_DEVICE wide_quad<T> times(wide factor) const {
    wide_quad<T> out;
    for (std::size_t j = 0; j < quad_width<T>; ++j)
      out.at[j] = static_cast<wide>(total[j] + static_cast<double>(chain.at[j])) * factor;
    return out;
  }
};

// One quad of the output per thread.
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
    sum_of_quads<T> sum;
    for (std::size_t row = y.begin; row < y.end; ++row)
      for (std::size_t column = x.begin; column < x.end; ++column)
        sum.add(where.load(input, image + row * over.x.in + column, at.channel), accumulated<T>{1});
    where.store(output, sum.times(share_of<T>(y, x)), at.pixel, at.channel);
  }
};
// One quad of the input per thread: adds up the windows that contain it, in their order.
template <class T>
struct avg_pool_input_gradient {
  window over;
  mean_of which;
  quad_of_pixel<T> where;
  T* input_gradient;
  const T* output_gradient;
  CAIRN_DEVICE void operator()(std::size_t index) const {
    const auto at = where.at(index);
    const output_range rows = outputs_having(over.y, which, at.row), columns = outputs_having(over.x, which, at.column);
    sum_of_quads<T> sum;
    for (std::size_t p = rows.begin; p < rows.end; ++p) {
      const mean_range y = range_of(over.y, which, p);
      for (std::size_t q = columns.begin; y.begin <= at.row && at.row < y.end && q < columns.end; ++q) {
        const mean_range x = range_of(over.x, which, q);
        if (at.column < x.begin || at.column >= x.end) continue;
        sum.add(where.load(output_gradient, at.image * over.outputs() + p * over.x.out + q, at.channel), share_of<T>(y, x));
      }
    }
    where.store(input_gradient, sum.times(accumulated<T>{1}), at.pixel, at.channel);
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void avg_pool2d_forward(cuda::queue& queue, const window& over, mean_of which, std::size_t samples, std::size_t channels,
                        T* output, const T* input) {
  const auto where = detail::quads_of_outputs<T>(over, channels, detail::rows_are_quads<T>(channels, output, input));
  detail::launch_each(queue, "avg_pool2d_forward", samples * over.outputs() * where.quads.by(),
                      detail::avg_pool_output<T>{over, which, where, output, input});
}

template <detail::floating_element T>
void avg_pool2d_backward(cuda::queue& queue, const window& over, mean_of which, std::size_t samples, std::size_t channels,
                         T* input_gradient, const T* output_gradient) {
  const bool aligned = detail::rows_are_quads<T>(channels, input_gradient, output_gradient);
  const auto where = detail::quads_of_inputs<T>(over, channels, aligned);
  detail::launch_each(queue, "avg_pool2d_backward", samples * over.inputs() * where.quads.by(),
                      detail::avg_pool_input_gradient<T>{over, which, where, input_gradient, output_gradient});
}

} // namespace cairn::ops
