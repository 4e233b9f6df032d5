// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/layer_norm/layer_norm.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::ops {

// 16-bit elements: computed in float, one element at a time, with sums in double. Each result is rounded once, when it is
// written.

template <detail::narrow_element T>
void layer_norm_forward(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* output,
                        accumulated<T>* statistics, const T* input, const T* weight, const T* bias) {
  using wide = accumulated<T>;
  const auto count = static_cast<double>(features);
  detail::for_each_row(queue, rows, features, [&](std::size_t row) {
    const T* const x = input + row * features;
    double sum = 0, squares = 0;
    for (std::size_t j = 0; j < features; ++j) sum += static_cast<double>(x[j]);
    for (std::size_t j = 0; j < features; ++j) {
      const double distance = static_cast<double>(x[j]) - sum / count;
      squares += distance * distance;
    }
    const auto mean = static_cast<wide>(sum / count), inverse = static_cast<wide>(1 / std::sqrt(squares / count + eps));
    if (statistics != nullptr) {
      statistics[2 * row] = mean;
      statistics[2 * row + 1] = inverse;
    }
    for (std::size_t j = 0; j < features; ++j)
      output[row * features + j] =
          static_cast<T>((static_cast<wide>(x[j]) - mean) * inverse * static_cast<wide>(weight[j]) + static_cast<wide>(bias[j]));
  });
}

template <detail::narrow_element T>
void layer_norm_backward(cpu::queue& queue, std::size_t rows, std::size_t features, T* input_gradient,
                         accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight) {
  using wide = accumulated<T>;
  // The parameters come first: the input gradient may take the place of the output gradient.
  detail::for_each_row(queue, weight_gradient == nullptr ? 0 : features, rows, [&](std::size_t j) {
    double dw = 0, db = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const auto dy = static_cast<wide>(output_gradient[row * features + j]);
      const wide normal = (static_cast<wide>(input[row * features + j]) - statistics[2 * row]) * statistics[2 * row + 1];
      dw += static_cast<double>(dy * normal);
      db += static_cast<double>(dy);
    }
    weight_gradient[j] = static_cast<wide>(dw);
    bias_gradient[j] = static_cast<wide>(db);
  });
  if (input_gradient == nullptr) return;

  const auto count = static_cast<double>(features);
  detail::for_each_row(queue, rows, features, [&](std::size_t row) {
    const T *const x = input + row * features, *const dy = output_gradient + row * features;
    const wide mean = statistics[2 * row], inverse = statistics[2 * row + 1];
    double sum = 0, product = 0;
    for (std::size_t j = 0; j < features; ++j) {
      const double weighted = static_cast<double>(dy[j]) * static_cast<double>(weight[j]);
      sum += weighted;
      product += weighted * static_cast<double>((static_cast<wide>(x[j]) - mean) * inverse);
    }
    const auto mean_gradient = static_cast<wide>(sum / count), mean_product = static_cast<wide>(product / count);
    for (std::size_t j = 0; j < features; ++j) {
      const wide normal = (static_cast<wide>(x[j]) - mean) * inverse;
      const wide weighted = static_cast<wide>(dy[j]) * static_cast<wide>(weight[j]);
      input_gradient[row * features + j] = static_cast<T>(inverse * (weighted - mean_gradient - normal * mean_product));
    }
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
