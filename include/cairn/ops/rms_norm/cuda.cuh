// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/rms_norm/formula.hpp>
#include <cairn/ops/rms_norm/rms_norm.hpp>

namespace cairn::detail {

// One row per team. Elements after the last one of a row are 0.
template <class T>
struct rms_norm_row {
  std::size_t features;
  double eps;
  bool aligned;
  T *output, *inverses;
  const T *input, *weight;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t row) const {
    constexpr std::size_t width = quad_width<T>;
    const std::size_t quads = quads_for<T>(features);
    const T* const x = input + row * features;
    const auto load = [&](const T* from, std::size_t q) { return load_quad(from, q * width, features, aligned); };
    const auto add_squares = [&](std::size_t q, T(&sum)[1]) {
      const quad<T> v = load(x, q);
      for (std::size_t j = 0; j < width; ++j) sum[0] += v.at[j] * v.at[j];
    };
    const double squares = team.template sums_over_quads<T, 1>(quads, add_squares).at[0];
    const rms_normalize<T> f{inverse_from<T>(squares, static_cast<double>(features), eps)};
    if (inverses != nullptr) team.once([&] { inverses[row] = f.inverse; });
    team.each(quads, [&](std::size_t q) {
      quad<T> v = load(x, q);
      const quad<T> by = load(weight, q);
      for (std::size_t j = 0; j < width; ++j) f(v.at[j], by.at[j]);
      store_quad(output + row * features, v, q * width, features, aligned);
    });
  }
};
template <class T>
struct rms_norm_row_gradient {
  std::size_t features;
  bool aligned;
  T* input_gradient;
  const T *output_gradient, *input, *inverses, *weight;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t row) const {
    constexpr std::size_t width = quad_width<T>;
    const std::size_t quads = quads_for<T>(features);
    const T *const x = input + row * features, *const dy = output_gradient + row * features;
    const auto load = [&](const T* from, std::size_t q) { return load_quad(from, q * width, features, aligned); };
    const T inverse = inverses[row];
    const auto add = [&](std::size_t q, T(&sum)[1]) {
      const quad<T> g = load(dy, q), by = load(weight, q), v = load(x, q);
      for (std::size_t j = 0; j < width; ++j) sum[0] += g.at[j] * by.at[j] * (v.at[j] * inverse);
    };
    const double product = team.template sums_over_quads<T, 1>(quads, add).at[0];
    const rms_derivative<T> f{inverse, static_cast<T>(product / static_cast<double>(features))};
    team.each(quads, [&](std::size_t q) {
      quad<T> g = load(dy, q);
      const quad<T> by = load(weight, q), v = load(x, q);
      for (std::size_t j = 0; j < width; ++j) f(g.at[j], v.at[j], by.at[j]);
      store_quad(input_gradient + row * features, g, q * width, features, aligned);
    });
  }
};
// The gradient of the weight; see sum_columns_then, of whose two sums it needs one.
template <class T>
struct rms_norm_weight_gradient {
  std::size_t features;
  T* weight_gradient;
  const T *output_gradient, *input, *inverses;

  CAIRN_DEVICE void add(std::size_t row, std::size_t end, std::size_t column, double& dw, double&) const {
    T sum = 0;
    for (; row < end; ++row) {
      const std::size_t at = row * features + column;
      rms_weight_derivative<T>{inverses[row]}(sum, output_gradient[at], input[at]);
    }
    dw += static_cast<double>(sum);
  }
  CAIRN_DEVICE void finish(std::size_t column, double dw, double) const { weight_gradient[column] = static_cast<T>(dw); }
};

} // namespace cairn::detail

namespace cairn::ops {

template <std::floating_point T>
void rms_norm_forward(cuda::queue& queue, std::size_t rows, std::size_t features, double eps, T* output, T* inverses,
                      const T* input, const T* weight) {
  const bool aligned = detail::rows_are_quads<T>(features, output, input, weight);
  detail::launch_teams_for(features / 2, queue, "rms_norm_forward", rows,
                           detail::rms_norm_row<T>{features, eps, aligned, output, inverses, input, weight});
}

template <std::floating_point T>
void rms_norm_backward(cuda::queue& queue, std::size_t rows, std::size_t features, T* input_gradient, T* weight_gradient,
                       const T* output_gradient, const T* input, const T* inverses, const T* weight) {
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
