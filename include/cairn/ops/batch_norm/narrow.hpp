// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/batch_norm/batch_norm.hpp>
#include <cairn/ops/batch_norm/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn {

// Of elements whose sums are kept in another type: feature by feature, one element after another, made in that type, sums
// in double, and rounded once when it is written. batch_norm_update works on statistics alone, so there is nothing to add.

namespace detail {

// y = (x - mean) r w + bias of one feature.
template <narrow_element T>
void normalize_feature(std::size_t rows, std::size_t features, std::size_t j, double eps, T* output, const T* input,
                       accumulated<T> mean, accumulated<T> variance, T weight, T bias) {
  using wide = accumulated<T>;
  const auto factor = static_cast<wide>(inverse_deviation(variance, eps) * static_cast<double>(weight));
  for (std::size_t at = j; at < rows * features; at += features)
    output[at] = static_cast<T>((static_cast<wide>(input[at]) - mean) * factor + static_cast<wide>(bias));
}

} // namespace detail

template <detail::narrow_element T>
void batch_norm_forward(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* output,
                        accumulated<T>* statistics, const T* input, const T* weight, const T* bias) {
  using wide = accumulated<T>;
  const double share = rows == 0 ? 0 : 1 / static_cast<double>(rows);
  detail::for_each_row(queue, features, rows, [&](std::size_t j) {
    double sum = 0, squares = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const double distance = static_cast<double>(input[row * features + j]) - static_cast<double>(input[j]);
      sum += distance;
      squares += distance * distance;
    }
    const double distance = sum * share, spread = squares * share - distance * distance;
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
  using wide = accumulated<T>;
  const auto count = static_cast<double>(rows);
  detail::for_each_row(queue, features, rows, [&](std::size_t j) {
    const wide mean = statistics[j];
    const double inverse = detail::inverse_deviation(statistics[features + j], eps);
    double sum = 0, products = 0;
    for (std::size_t at = j; at < rows * features; at += features) {
      const auto dy = static_cast<double>(output_gradient[at]);
      sum += dy;
      products += dy * (static_cast<double>(input[at]) - static_cast<double>(mean));
    }
    if (bias_gradient != nullptr) bias_gradient[j] = static_cast<wide>(sum);
    if (weight_gradient != nullptr) weight_gradient[j] = static_cast<wide>(products * inverse);
    if (input_gradient == nullptr) return;
    const auto factor = static_cast<wide>(inverse * static_cast<double>(weight[j]));
    const auto gradient_mean = static_cast<wide>(sum / count);
    const auto slope = static_cast<wide>(products * inverse * inverse / count);
    for (std::size_t at = j; at < rows * features; at += features)
      input_gradient[at] = static_cast<T>(
          factor * (static_cast<wide>(output_gradient[at]) - gradient_mean - (static_cast<wide>(input[at]) - mean) * slope));
  });
}

} // namespace cairn

CAIRN_KERNELS_END
