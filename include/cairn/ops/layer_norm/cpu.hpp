// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/row_sums.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/layer_norm/formula.hpp>
#include <cairn/ops/layer_norm/layer_norm.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::ops {

template <class T>
void layer_norm_forward(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* output,
                        accumulated<T>* statistics, const T* input, const T* weight, const T* bias) {
  const detail::instruction_set set = detail::widest_for_results<T>();
  const auto count = static_cast<double>(features);
  detail::for_each_row(queue, rows, features, [&](std::size_t row) {
    const T* const x = input + row * features;
    const auto value = [x](std::size_t j) __attribute__((always_inline)) { return static_cast<double>(x[j]); };
    const double mean = detail::sum_in_lanes(features, value) / count;
    const double squares = detail::sum_in_lanes(features, [x, mean](std::size_t j) __attribute__((always_inline)) {
      const double distance = static_cast<double>(x[j]) - mean;
      return distance * distance;
    });
    const detail::normalize<accumulated<T>> f{detail::statistics_from<accumulated<T>>(mean, squares, count, eps)};
    if (statistics != nullptr) {
      statistics[2 * row] = f.of.mean;
      statistics[2 * row + 1] = f.of.inverse;
    }
    detail::run_elements(set, f, features, std::array{output + row * features}, std::array{x, weight, bias});
  });
}

template <class T>
void layer_norm_backward(cpu::queue& queue, std::size_t rows, std::size_t features, T* input_gradient,
                         accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight) {
  using wide = accumulated<T>;
  const detail::instruction_set set = detail::widest_for_results<T>();
  const auto of_row = [statistics](std::size_t row) {
    return detail::statistics_of_row<wide>{statistics[2 * row], statistics[2 * row + 1]};
  };
  // The parameters come first: the input gradient may take the place of the output gradient.
  const std::size_t learnt = weight_gradient == nullptr ? 0 : features;
  detail::for_each_strip(queue, rows, learnt, [&](std::size_t begin, std::size_t columns) {
    detail::chained_sums<wide> dw, db;
    for (auto* const sums : {&dw, &db}) detail::start_sums(*sums, columns);
    for (std::size_t row = 0; row < rows;) {
      for (auto* const sums : {&dw, &db}) detail::start_chain(*sums, columns);
      for (const std::size_t end = std::min(rows, row + detail::sum_chain); row < end; ++row) {
        const detail::normalize_parameters_derivative<wide> f{of_row(row)};
        const T *const dy = output_gradient + row * features + begin, *const x = input + row * features + begin;
        if constexpr (detail::is_narrow<T>) // without chains
          detail::add_widened(f, std::array<double*, 2>{dw.total, db.total},
                              std::array{matrix<const T>{dy, 1, columns}, matrix<const T>{x, 1, columns}},
                              std::array<const wide*, 0>{});
        else
          detail::run_elements(set, f, columns, std::array<T*, 2>{dw.chain, db.chain},
                               std::array<const T*, 4>{dw.chain, db.chain, dy, x});
      }
      for (auto* const sums : {&dw, &db}) detail::end_chain(set, *sums, columns);
    }
    for (std::size_t j = 0; j < columns; ++j) {
      weight_gradient[begin + j] = static_cast<wide>(dw.total[j]);
      bias_gradient[begin + j] = static_cast<wide>(db.total[j]);
    }
  });
  if (input_gradient == nullptr) return;

  const auto count = static_cast<double>(features);
  detail::for_each_row(queue, rows, features, [&](std::size_t row) {
    const T *const x = input + row * features, *const dy = output_gradient + row * features;
    const detail::statistics_of_row<wide> of = of_row(row);
    const auto weighted = [dy, weight](std::size_t j) __attribute__((always_inline)) {
      return static_cast<double>(dy[j]) * static_cast<double>(weight[j]);
    };
    const double sum = detail::sum_in_lanes(features, weighted);
    const auto projected = [weighted, x, of](std::size_t j) __attribute__((always_inline)) {
      return weighted(j) * static_cast<double>(of.normal(static_cast<wide>(x[j])));
    };
    const double product = detail::sum_in_lanes(features, projected);
    const detail::normalize_derivative<wide> f{of, static_cast<wide>(sum / count), static_cast<wide>(product / count)};
    detail::run_elements(set, f, features, std::array{input_gradient + row * features}, std::array{dy, x, weight});
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
