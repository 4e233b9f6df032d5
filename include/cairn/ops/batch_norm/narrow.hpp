// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/batch_norm/batch_norm.hpp>
#include <cairn/ops/batch_norm/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>

CAIRN_KERNELS_BEGIN

// 16-bit elements: computed in float, feature by feature and one element at a time, with sums in double. Each result is rounded
// once, when it is written. batch_norm_update works on statistics alone and needs no version for them.

namespace cairn::detail {

// y = (x - mean) r w + bias of one feature.
template <narrow_element T>
void normalize_feature(std::size_t rows, std::size_t features, std::size_t j, double eps, T* output, const T* input,
                       accumulated<T> mean, accumulated<T> variance, T weight, T bias) {
  using wide = accumulated<T>;
  const auto factor = static_cast<wide>(inverse_deviation(variance, eps) * static_cast<double>(weight));
  for (std::size_t at = j; at < rows * features; at += features)
    output[at] = static_cast<T>((static_cast<wide>(input[at]) - mean) * factor + static_cast<wide>(bias));
}

// Sums of one feature's distances from its first element and of their squares.
struct two_sums {
  double first = 0, second = 0;
};
template <narrow_element T>
two_sums sum_distances_of(std::size_t rows, std::size_t features, std::size_t j, const T* input) {
  two_sums to;
  for (std::size_t row = 0; row < rows; ++row) add_distances{}(to.first, to.second, input[row * features + j], input[j]);
  return to;
}

// add_gradients of one feature, and the gradients of its parameters.
template <narrow_element T>
two_sums sum_gradients_of(std::size_t rows, std::size_t features, std::size_t j, double eps, accumulated<T>* weight_gradient,
                          accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                          const accumulated<T>* statistics) {
  two_sums to;
  for (std::size_t at = j; at < rows * features; at += features) {
    const auto dy = static_cast<double>(output_gradient[at]);
    to.first += dy;
    to.second += dy * (static_cast<double>(input[at]) - static_cast<double>(statistics[j]));
  }
  if (bias_gradient != nullptr) bias_gradient[j] = static_cast<accumulated<T>>(to.first);
  if (weight_gradient != nullptr)
    weight_gradient[j] = static_cast<accumulated<T>>(to.second * inverse_deviation(statistics[features + j], eps));
  return to;
}

// dx of one feature, from its sums over `count` rows.
template <narrow_element T>
void differentiate_feature(std::size_t rows, std::size_t features, std::size_t j, double eps, T* input_gradient,
                           const T* output_gradient, const T* input, const accumulated<T>* statistics, const T* weight,
                           const two_sums& sums, double count) {
  using wide = accumulated<T>;
  const wide mean = statistics[j];
  const double inverse = inverse_deviation(statistics[features + j], eps);
  const auto factor = static_cast<wide>(inverse * static_cast<double>(weight[j]));
  const auto gradient_mean = static_cast<wide>(sums.first / count);
  const auto slope = static_cast<wide>(sums.second * inverse * inverse / count);
  for (std::size_t at = j; at < rows * features; at += features)
    input_gradient[at] = static_cast<T>(
        factor * (static_cast<wide>(output_gradient[at]) - gradient_mean - (static_cast<wide>(input[at]) - mean) * slope));
}

} // namespace cairn::detail

namespace cairn::ops {

template <detail::narrow_element T>
void batch_norm_forward(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* output,
                        accumulated<T>* statistics, const T* input, const T* weight, const T* bias) {
  using wide = accumulated<T>;
  const double share = rows == 0 ? 0 : 1 / static_cast<double>(rows);
  detail::for_each_row(queue, features, rows, [&](std::size_t j) {
    const detail::two_sums sums = detail::sum_distances_of(rows, features, j, input);
    const double distance = sums.first * share, spread = sums.second * share - distance * distance;
    const auto mean = rows == 0 ? wide{0} : static_cast<wide>(static_cast<double>(input[j]) + distance);
    const auto variance = static_cast<wide>(spread < 0 ? 0 : spread); // NaN stays
    statistics[j] = mean;
    statistics[features + j] = variance;
    detail::normalize_feature(rows, features, j, eps, output, input, mean, variance, weight[j], bias[j]);
  });
}

template <detail::narrow_element T>
void batch_norm_evaluate(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* output, const T* input,
                         const accumulated<T>* mean, const accumulated<T>* variance, const T* weight, const T* bias) {
  detail::for_each_row(queue, features, rows, [&](std::size_t j) {
    detail::normalize_feature(rows, features, j, eps, output, input, mean[j], variance[j], weight[j], bias[j]);
  });
}

template <detail::narrow_element T>
void batch_norm_backward(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* input_gradient,
                         accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight) {
  detail::for_each_row(queue, features, rows, [&](std::size_t j) {
    const detail::two_sums sums =
        detail::sum_gradients_of(rows, features, j, eps, weight_gradient, bias_gradient, output_gradient, input, statistics);
    if (input_gradient == nullptr) return;
    detail::differentiate_feature(rows, features, j, eps, input_gradient, output_gradient, input, statistics, weight, sums,
                                  static_cast<double>(rows));
  });
}

template <detail::narrow_element T>
void batch_norm_sums(cpu::queue& queue, std::size_t rows, std::size_t features, double* sums, const T* input) {
  const auto count = static_cast<double>(rows);
  sums[2 * features] = count;
  detail::for_each_row(queue, features, rows, [&](std::size_t j) {
    const detail::two_sums distances = detail::sum_distances_of(rows, features, j, input);
    detail::sum_from_distances(sums + j, features, count, rows == 0 ? 0 : static_cast<double>(input[j]), distances.first,
                               distances.second);
  });
}

template <detail::narrow_element T>
void batch_norm_gradient_sums(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, double* sums,
                              accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient,
                              const T* input, const accumulated<T>* statistics) {
  detail::for_each_row(queue, features, rows, [&](std::size_t j) {
    const detail::two_sums own =
        detail::sum_gradients_of(rows, features, j, eps, weight_gradient, bias_gradient, output_gradient, input, statistics);
    sums[j] = own.first;
    sums[features + j] = own.second;
  });
}

template <detail::narrow_element T>
void batch_norm_input_gradient(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* input_gradient,
                               const T* output_gradient, const T* input, const accumulated<T>* statistics, const T* weight,
                               const double* sums) {
  detail::for_each_row(queue, features, rows, [&](std::size_t j) {
    detail::differentiate_feature(rows, features, j, eps, input_gradient, output_gradient, input, statistics, weight,
                                  {sums[j], sums[features + j]}, sums[2 * features]);
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
