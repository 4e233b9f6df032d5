// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/row_sums.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/layer_norm/layer_norm.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

template <class T>
struct normalize {
  T mean, inverse;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x, T weight, T bias) const {
    x = (x - mean) * inverse * weight + bias;
  }
};

// One row's share of the gradients of weight and bias.
template <class T>
struct normalize_parameters_derivative {
  T mean, inverse;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& weight, T& bias, T gradient, T x) const {
    weight += gradient * ((x - mean) * inverse);
    bias += gradient;
  }
};

template <class T>
struct normalize_derivative {
  T mean, inverse, mean_gradient, mean_product;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T x, T weight) const {
    const T normal = (x - mean) * inverse;
    gradient = inverse * (gradient * weight - mean_gradient - normal * mean_product);
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void layer_norm_forward(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* output,
                        accumulated<T>* statistics, const T* input, const T* weight, const T* bias) {
  const detail::instruction_set set = detail::widest_for_elements();
  const auto count = static_cast<double>(features);
  detail::for_each_row(queue, rows, features, [&](std::size_t row) {
    const T* const x = input + row * features;
    const auto value = [x](std::size_t j) __attribute__((always_inline)) { return static_cast<double>(x[j]); };
    const double mean = detail::sum_in_lanes(features, value) / count;
    const double square = detail::sum_in_lanes(features, [x, mean](std::size_t j) __attribute__((always_inline)) {
      const double distance = static_cast<double>(x[j]) - mean;
      return distance * distance;
    });
    const detail::normalize<T> f{static_cast<T>(mean), static_cast<T>(1 / std::sqrt(square / count + eps))};
    if (statistics != nullptr) {
      statistics[2 * row] = f.mean;
      statistics[2 * row + 1] = f.inverse;
    }
    detail::run_elements(set, f, features, std::array{output + row * features}, std::array{x, weight, bias});
  });
}

template <class T>
void layer_norm_backward(cpu::queue& queue, std::size_t rows, std::size_t features, T* input_gradient,
                         accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight) {
  const detail::instruction_set set = detail::widest_for_elements();
  // The parameters come first: the input gradient may take the place of the output gradient.
  const std::size_t learnt = weight_gradient == nullptr ? 0 : features;
  detail::for_each_strip(queue, rows, learnt, [&](std::size_t begin, std::size_t columns) {
    detail::chained_sums<T> dw, db;
    for (auto* const sums : {&dw, &db}) detail::start_sums(*sums, columns);
    for (std::size_t row = 0; row < rows;) {
      for (auto* const sums : {&dw, &db}) detail::start_chain(*sums, columns);
      for (const std::size_t end = std::min(rows, row + detail::sum_chain); row < end; ++row) {
        const detail::normalize_parameters_derivative<T> f{statistics[2 * row], statistics[2 * row + 1]};
        const std::size_t first = row * features + begin;
        detail::run_elements(set, f, columns, std::array<T*, 2>{dw.chain, db.chain},
                             std::array<const T*, 4>{dw.chain, db.chain, output_gradient + first, input + first});
      }
      for (auto* const sums : {&dw, &db}) detail::end_chain(set, *sums, columns);
    }
    for (std::size_t j = 0; j < columns; ++j) {
      weight_gradient[begin + j] = static_cast<T>(dw.total[j]);
      bias_gradient[begin + j] = static_cast<T>(db.total[j]);
    }
  });
  if (input_gradient == nullptr) return;

  const auto count = static_cast<double>(features);
  detail::for_each_row(queue, rows, features, [&](std::size_t row) {
    const T *const x = input + row * features, *const dy = output_gradient + row * features;
    const T mean = statistics[2 * row], inverse = statistics[2 * row + 1];
    const auto weighted = [dy, weight](std::size_t j) __attribute__((always_inline)) {
      return static_cast<double>(dy[j]) * static_cast<double>(weight[j]);
    };
    const double sum = detail::sum_in_lanes(features, weighted);
    const auto projected = [weighted, x, mean, inverse](std::size_t j) __attribute__((always_inline)) {
      return weighted(j) * static_cast<double>((x[j] - mean) * inverse);
    };
    const double product = detail::sum_in_lanes(features, projected);
    const detail::normalize_derivative<T> f{mean, inverse, static_cast<T>(sum / count), static_cast<T>(product / count)};
    detail::run_elements(set, f, features, std::array{input_gradient + row * features}, std::array{dy, x, weight});
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
