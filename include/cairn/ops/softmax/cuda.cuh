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
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/softmax/formula.hpp>
#include <cairn/ops/softmax/softmax.hpp>

namespace cairn::detail {

// One row per team. Each element is read for the last time by the thread that writes its result, which may lie there.
template <class T>
struct softmax_row {
  using wide = accumulated<T>;
  static constexpr unsigned resident_threads =
      sizeof(wide) == sizeof(float) ? 768 : 512; // exponentials of doubles need registers

  std::size_t columns;
  bool aligned;
  T* output;
  const T* input;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t row) const {
    constexpr std::size_t width = quad_width<T>;
    const std::size_t quads = quads_for<T>(columns);
    const T* const x = input + row * columns;
    const auto load = [&](std::size_t q) { return load_wide(x, q * width, columns, aligned); };
    const shifted_exponential<wide> f{team.greatest(quads, [&](std::size_t q) {
      const wide_quad<T> v = load(q);
      wide found = v.at[0];
      for (std::size_t j = 1; j < width; ++j) found = q * width + j < columns && v.at[j] > found ? v.at[j] : found;
      return found;
    })};
    const auto add_powers = [&](std::size_t q, wide(&some)[1]) {
      wide_quad<T> v = load(q);
      for (std::size_t j = 0; j < width; ++j) {
        f(v.at[j]);
        some[0] += q * width + j < columns ? v.at[j] : wide{0};
      }
    };
    const double sum = team.template sums_over_quads<wide, 1>(quads, add_powers).at[0];
    const scaled<wide> share{static_cast<wide>(1 / sum)};
    team.each(quads, [&](std::size_t q) {
      wide_quad<T> v = load(q);
      for (std::size_t j = 0; j < width; ++j) {
        f(v.at[j]);
        share(v.at[j]);
      }
      store_wide(output + row * columns, v, q * width, columns, aligned);
    });
  }
};
template <class T>
struct softmax_row_gradient {
  using wide = accumulated<T>;

  std::size_t columns;
  bool aligned;
  T* input_gradient;
  const T *output_gradient, *output;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t row) const {
    constexpr std::size_t width = quad_width<T>;
    const std::size_t quads = quads_for<T>(columns);
    const T *const dy = output_gradient + row * columns, *const y = output + row * columns;
    const auto load = [&](const T* from, std::size_t q) { return load_wide(from, q * width, columns, aligned); };
    const auto add = [&](std::size_t q, wide(&sum)[1]) { // after the last element both are 0
      const wide_quad<T> g = load(dy, q), v = load(y, q);
      for (std::size_t j = 0; j < width; ++j) sum[0] += g.at[j] * v.at[j];
    };
    const softmax_derivative<wide> f{static_cast<wide>(team.template sums_over_quads<wide, 1>(quads, add).at[0])};
    team.each(quads, [&](std::size_t q) {
      wide_quad<T> g = load(dy, q);
      const wide_quad<T> v = load(y, q);
      for (std::size_t j = 0; j < width; ++j) f(g.at[j], v.at[j]);
      store_wide(input_gradient + row * columns, g, q * width, columns, aligned);
    });
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void softmax_forward(cuda::queue& queue, std::size_t rows, std::size_t columns, T* output, const T* input) {
  detail::launch_teams_for(columns / 2, queue, "softmax_forward", rows,
                           detail::softmax_row<T>{columns, detail::rows_are_quads<T>(columns, output, input), output, input});
}

template <detail::floating_element T>
void softmax_backward(cuda::queue& queue, std::size_t rows, std::size_t columns, T* input_gradient, const T* output_gradient,
                      const T* output) {
  const bool aligned = detail::rows_are_quads<T>(columns, input_gradient, output_gradient, output);
  detail::launch_teams_for(columns / 2, queue, "softmax_backward", rows,
                           detail::softmax_row_gradient<T>{columns, aligned, input_gradient, output_gradient, output});
}

} // namespace cairn::ops
