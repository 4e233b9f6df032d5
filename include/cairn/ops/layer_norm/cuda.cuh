// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/layer_norm/cpu.hpp>
#include <cairn/ops/layer_norm/layer_norm.hpp>

namespace cairn {

namespace detail {

// One row each.
template <class T>
struct layer_norm_row {
  std::size_t features;
  double eps;
  T *output, *statistics;
  const T *input, *weight, *bias;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t row) const {
    const T* const x = input + row * features;
    T* const y = output + row * features;
    const auto count = static_cast<double>(features);
    const double mean = team.sum(features, [x](std::size_t j) { return static_cast<double>(x[j]); }) / count;
    const double square = team.sum(features, [x, mean](std::size_t j) {
      const double distance = static_cast<double>(x[j]) - mean;
      return distance * distance;
    });
    const normalize<T> f{static_cast<T>(mean), static_cast<T>(1 / sqrt(square / count + eps))};
    if (statistics != nullptr)
      team.once([&] {
        statistics[2 * row] = f.mean;
        statistics[2 * row + 1] = f.inverse;
      });
    team.each(features, [&](std::size_t j) {
      T value = x[j];
      f(value, weight[j], bias[j]);
      y[j] = value;
    });
  }
};
template <class T>
struct layer_norm_row_gradient {
  std::size_t features;
  T* input_gradient;
  const T *output_gradient, *input, *statistics, *weight;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t row) const {
    const T *const x = input + row * features, *const dy = output_gradient + row * features;
    T* const dx = input_gradient + row * features;
    const T mean = statistics[2 * row], inverse = statistics[2 * row + 1];
    const auto weighted = [&](std::size_t j) { return static_cast<double>(dy[j]) * static_cast<double>(weight[j]); };
    const double sum = team.sum(features, weighted);
    const double product =
        team.sum(features, [&](std::size_t j) { return weighted(j) * static_cast<double>((x[j] - mean) * inverse); });
    const auto count = static_cast<double>(features);
    const normalize_derivative<T> f{mean, inverse, static_cast<T>(sum / count), static_cast<T>(product / count)};
    team.each(features, [&](std::size_t j) {
      T value = dy[j];
      f(value, x[j], weight[j]);
      dx[j] = value;
    });
  }
};
// Of weight and bias: see sum_columns_then.
template <class T>
struct layer_norm_parameters {
  std::size_t features;
  T *weight_gradient, *bias_gradient;
  const T *output_gradient, *input, *statistics;

  CAIRN_DEVICE void add(std::size_t row, std::size_t column, double& dw, double& db) const {
    const std::size_t at = row * features + column;
    const auto dy = static_cast<double>(output_gradient[at]);
    dw += dy * static_cast<double>((input[at] - statistics[2 * row]) * statistics[2 * row + 1]);
    db += dy;
  }
  CAIRN_DEVICE void finish(std::size_t column, double dw, double db) const {
    weight_gradient[column] = static_cast<T>(dw);
    bias_gradient[column] = static_cast<T>(db);
  }
};

} // namespace detail

template <std::floating_point T>
void layer_norm_forward(cuda::queue& queue, std::size_t rows, std::size_t features, double eps, T* output, T* statistics,
                        const T* input, const T* weight, const T* bias) {
  detail::launch_teams_for(features, queue, "layer_norm_forward", rows,
                           detail::layer_norm_row<T>{features, eps, output, statistics, input, weight, bias});
}

template <std::floating_point T>
void layer_norm_backward(cuda::queue& queue, std::size_t rows, std::size_t features, T* input_gradient, T* weight_gradient,
                         T* bias_gradient, const T* output_gradient, const T* input, const T* statistics, const T* weight) {
  constexpr const char* op = "layer_norm_backward";
  // The parameters come first: the input gradient may take the place of the output gradient.
  if (weight_gradient != nullptr)
    detail::sum_columns_then(
        queue, op, rows, features,
        detail::layer_norm_parameters<T>{features, weight_gradient, bias_gradient, output_gradient, input, statistics});
  if (input_gradient != nullptr)
    detail::launch_teams_for(
        features, queue, op, rows,
        detail::layer_norm_row_gradient<T>{features, input_gradient, output_gradient, input, statistics, weight});
}

} // namespace cairn
