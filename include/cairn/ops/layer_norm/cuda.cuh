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
#include <cairn/ops/layer_norm/formula.hpp>
#include <cairn/ops/layer_norm/layer_norm.hpp>

namespace cairn::detail {

// One row per team. Distances are of type T, from the row's first element and then from the mean; their sums are doubles.
template <class T>
struct layer_norm_row {
  using wide = accumulated<T>;

  std::size_t features;
  double eps;
  bool aligned;
  T* output;
  wide* statistics;
  const T *input, *weight, *bias;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t row) const {
    constexpr std::size_t width = quad_width<T>;
    const std::size_t quads = quads_for<T>(features);
    const T* const x = input + row * features;
    const auto load = [&](const T* from, std::size_t q) { return load_wide(from, q * width, features, aligned); };
    const auto count = static_cast<double>(features);
    const wide first = widened(x[0]);
    const auto add_distances = [&](std::size_t q, wide(&sum)[1]) {
      const wide_quad<T> v = load(x, q);
      for (std::size_t j = 0; j < width; ++j) sum[0] += q * width + j < features ? v.at[j] - first : wide{0};
    };
    const double distance = team.template sums_over_quads<wide, 1>(quads, add_distances).at[0] / count;
    const wide center = static_cast<wide>(distance);
    const auto add_squares = [&](std::size_t q, wide(&sum)[1]) {
      const wide_quad<T> v = load(x, q);
      for (std::size_t j = 0; j < width; ++j) {
        const wide apart = q * width + j < features ? v.at[j] - first - center : wide{0};
        sum[0] += apart * apart;
      }
    };
    const double square = team.template sums_over_quads<wide, 1>(quads, add_squares).at[0];
    const statistics_of_row<wide> of = statistics_from<wide>(static_cast<double>(first) + distance, square, count, eps);
    if (statistics != nullptr)
      team.once([&] {
        statistics[2 * row] = of.mean;
        statistics[2 * row + 1] = of.inverse;
      });
    team.each(quads, [&](std::size_t q) {
      wide_quad<T> v = load(x, q);
      const wide_quad<T> by = load(weight, q), shift = load(bias, q);
      for (std::size_t j = 0; j < width; ++j) normalize<wide>{of}(v.at[j], by.at[j], shift.at[j]);
      store_wide(output + row * features, v, q * width, features, aligned);
    });
  }
};
template <class T>
struct layer_norm_row_gradient {
  using wide = accumulated<T>;

  std::size_t features;
  bool aligned;
  T* input_gradient;
  const T *output_gradient, *input;
  const wide* statistics;
  const T* weight;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t row) const {
    constexpr std::size_t width = quad_width<T>;
    const std::size_t quads = quads_for<T>(features);
    const T *const x = input + row * features, *const dy = output_gradient + row * features;
    const auto load = [&](const T* from, std::size_t q) { return load_wide(from, q * width, features, aligned); };
    const statistics_of_row<wide> of{statistics[2 * row], statistics[2 * row + 1]};
    const auto add = [&](std::size_t q, wide(&sums)[2]) { // beyond the last element dy is 0
      const wide_quad<T> g = load(dy, q), by = load(weight, q), v = load(x, q);
      for (std::size_t j = 0; j < width; ++j) {
        const wide weighted = g.at[j] * by.at[j];
        sums[0] += weighted;
        sums[1] += weighted * of.normal(v.at[j]);
      }
    };
    const sums_of<2> sums = team.template sums_over_quads<wide, 2>(quads, add);
    const auto count = static_cast<double>(features);
    const normalize_derivative<wide> f{of, static_cast<wide>(sums.at[0] / count), static_cast<wide>(sums.at[1] / count)};
    team.each(quads, [&](std::size_t q) {
      wide_quad<T> g = load(dy, q);
      const wide_quad<T> by = load(weight, q), v = load(x, q);
      for (std::size_t j = 0; j < width; ++j) f(g.at[j], v.at[j], by.at[j]);
      store_wide(input_gradient + row * features, g, q * width, features, aligned);
    });
  }
};
// The gradients of weight and bias; see sum_columns_then.
template <class T>
struct layer_norm_parameters {
  using wide = accumulated<T>;

  std::size_t features;
  wide *weight_gradient, *bias_gradient;
  const T *output_gradient, *input;
  const wide* statistics;

  CAIRN_DEVICE void add(std::size_t row, std::size_t end, std::size_t column, double& dw, double& db) const {
    wide weights = 0, biases = 0;
    for (; row < end; ++row) {
      const std::size_t at = row * features + column;
      const statistics_of_row<wide> of{statistics[2 * row], statistics[2 * row + 1]};
      normalize_parameters_derivative<wide>{of}(weights, biases, widened(output_gradient[at]), widened(input[at]));
    }
    dw += static_cast<double>(weights);
    db += static_cast<double>(biases);
  }
  CAIRN_DEVICE void finish(std::size_t column, double dw, double db) const {
    weight_gradient[column] = static_cast<wide>(dw);
    bias_gradient[column] = static_cast<wide>(db);
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void layer_norm_forward(cuda::queue& queue, std::size_t rows, std::size_t features, double eps, T* output,
                        accumulated<T>* statistics, const T* input, const T* weight, const T* bias) {
  const bool aligned = detail::rows_are_quads<T>(features, output, input, weight, bias);
  detail::launch_teams_for(features / 2, queue, "layer_norm_forward", rows,
                           detail::layer_norm_row<T>{features, eps, aligned, output, statistics, input, weight, bias});
}

template <detail::floating_element T>
void layer_norm_backward(cuda::queue& queue, std::size_t rows, std::size_t features, T* input_gradient,
                         accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight) {
  constexpr const char* op = "layer_norm_backward";
  // The parameters come first: the input gradient may take the place of the output gradient.
  if (weight_gradient != nullptr)
    detail::sum_columns_then(
        queue, op, rows, features,
        detail::layer_norm_parameters<T>{features, weight_gradient, bias_gradient, output_gradient, input, statistics});
  const bool aligned = detail::rows_are_quads<T>(features, input_gradient, output_gradient, input, weight);
  if (input_gradient != nullptr)
    detail::launch_teams_for(
        features / 2, queue, op, rows,
        detail::layer_norm_row_gradient<T>{features, aligned, input_gradient, output_gradient, input, statistics, weight});
}

} // namespace cairn::ops
