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
#include <cairn/ops/rms_norm/formula.hpp>
#include <cairn/ops/rms_norm/rms_norm.hpp>

namespace cairn::detail {

// One row per team. Elements after the last one of a row are 0.
template <class T>
struct rms_norm_row {
  using wide = accumulated<T>;

  std::size_t features;
  double eps;
  bool aligned;
  T* output;
  wide* inverses;
  const T *input, *weight;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t row) const {
    constexpr std::size_t width = quad_width<T>;
    const std::size_t quads = quads_for<T>(features);
    const T* const x = input + row * features;
    const auto load = [&](const T* from, std::size_t q) { return load_wide(from, q * width, features, aligned); };
    const auto add_squares = [&](std::size_t q, wide(&sum)[1]) {
      const wide_quad<T> v = load(x, q);
      for (std::size_t j = 0; j < width; ++j) sum[0] += v.at[j] * v.at[j];
    };
    const double squares = team.template sums_over_quads<wide, 1>(quads, add_squares).at[0];
    const rms_normalize<wide> f{inverse_from<wide>(squares, static_cast<double>(features), eps)};
    if (inverses != nullptr) team.once([&] { inverses[row] = f.inverse; });
    team.each(quads, [&](std::size_t q) {
      wide_quad<T> v = load(x, q);
      const wide_quad<T> by = load(weight, q);
      for (std::size_t j = 0; j < width; ++j) f(v.at[j], by.at[j]);
      store_wide(output + row * features, v, q * width, features, aligned);
    });
  }
};
template <class T>
struct rms_norm_row_gradient {
  using wide = accumulated<T>;

  std::size_t features;
  bool aligned;
  T* input_gradient;
  const T *output_gradient, *input;
  const wide* inverses;
  const T* weight;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t row) const {
    constexpr std::size_t width = quad_width<T>;
    const std::size_t quads = quads_for<T>(features);
    const T *const x = input + row * features, *const dy = output_gradient + row * features;
    const auto load = [&](const T* from, std::size_t q) { return load_wide(from, q * width, features, aligned); };
    const wide inverse = inverses[row];
    const auto add = [&](std::size_t q, wide(&sum)[1]) {
      const wide_quad<T> g = load(dy, q), by = load(weight, q), v = load(x, q);
      for (std::size_t j = 0; j < width; ++j) sum[0] += g.at[j] * by.at[j] * (v.at[j] * inverse);
    };
    const double product = team.template sums_over_quads<wide, 1>(quads, add).at[0];
    const rms_derivative<wide> f{inverse, static_cast<wide>(product / static_cast<double>(features))};
    team.each(quads, [&](std::size_t q) {
      wide_quad<T> g = load(dy, q);
      const wide_quad<T> by = load(weight, q), v = load(x, q);
      for (std::size_t j = 0; j < width; ++j) f(g.at[j], v.at[j], by.at[j]);
      store_wide(input_gradient + row * features, g, q * width, features, aligned);
    });
  }
};
// The gradient of the weight; see sum_columns_then, of whose two sums it needs one.
template <class T>
struct rms_norm_weight_gradient {
  using wide = accumulated<T>;

  std::size_t features;
  wide* weight_gradient;
  const T *output_gradient, *input;
  const wide* inverses;

  CAIRN_DEVICE void add(std::size_t row, std::size_t end, std::size_t column, double& dw, double&) const {
    wide sum = 0;
    for (; row < end; ++row) {
      const std::size_t at = row * features + column;
      rms_weight_derivative<wide>{inverses[row]}(sum, widened(output_gradient[at]), widened(input[at]));
    }
    dw += static_cast<double>(sum);
  }
  CAIRN_DEVICE void finish(std::size_t column, double dw, double) const { weight_gradient[column] = static_cast<wide>(dw); }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void rms_norm_forward(cuda::queue& queue, std::size_t rows, std::size_t features, double eps, T* output, accumulated<T>* inverses,
                      const T* input, const T* weight) {
  const bool aligned = detail::rows_are_quads<T>(features, output, input, weight);
  detail::launch_teams_for(features / 2, queue, "rms_norm_forward", rows,
                           detail::rms_norm_row<T>{features, eps, aligned, output, inverses, input, weight});
}

template <detail::floating_element T>
void rms_norm_backward(cuda::queue& queue, std::size_t rows, std::size_t features, T* input_gradient,
                       accumulated<T>* weight_gradient, const T* output_gradient, const T* input, const accumulated<T>* inverses,
                       const T* weight) {
  constexpr const char* op = "rms_norm_backward";
  // The parameters come first: the input gradient may take the place of the output gradient.
  if (weight_gradient != nullptr)
    detail::sum_columns_then(queue, op, rows, features,
                             detail::rms_norm_weight_gradient<T>{features, weight_gradient, output_gradient, input, inverses});
  const bool aligned = detail::rows_are_quads<T>(features, input_gradient, output_gradient, input, weight);
  if (input_gradient != nullptr)
    detail::launch_teams_for(
        features / 2, queue, op, rows,
        detail::rms_norm_row_gradient<T>{features, aligned, input_gradient, output_gradient, input, inverses, weight});
}

} // namespace cairn::ops
