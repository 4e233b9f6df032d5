// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/conversions.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/row_sums.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/layer_norm/formula.hpp>
#include <cairn/ops/layer_norm/layer_norm.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Normalises one row. The result may lie on x. Of 16-bit results the operands may be widened: X is T or accumulated<T>.
template <class T, class X, class Set>
statistics_of_row<accumulated<T>> normalize_row(Set set, std::size_t features, double eps, T* y, const X* x, const X* weight,
                                                const X* bias) {
  const auto count = static_cast<double>(features);
  const auto value = [x](std::size_t j) __attribute__((always_inline)) { return static_cast<double>(x[j]); };
  const double mean = sum_in_lanes(features, value) / count;
  const double squares = sum_in_lanes(features, [x, mean](std::size_t j) __attribute__((always_inline)) {
    const double distance = static_cast<double>(x[j]) - mean;
    return distance * distance;
  });
  const normalize<accumulated<T>> f{statistics_from<accumulated<T>>(mean, squares, count, eps)};
  run_mixed<T>(set, f, features, written{y}, taken{x, weight, bias});
  return f.of;
}

// The gradient of one row, which may lie on the output gradient.
template <class T, class X, class Set>
void differentiate_row(Set set, std::size_t features, T* dx, const X* dy, const X* x, const X* weight,
                       const statistics_of_row<accumulated<T>>& of) {
  using wide = accumulated<T>;
  const auto count = static_cast<double>(features);
  const auto weighted = [dy, weight](std::size_t j) __attribute__((always_inline)) {
    return static_cast<double>(dy[j]) * static_cast<double>(weight[j]);
  };
  const double sum = sum_in_lanes(features, weighted);
  const auto projected = [weighted, x, of](std::size_t j) __attribute__((always_inline)) {
    return weighted(j) * static_cast<double>(of.normal(static_cast<wide>(x[j])));
  };
  const double product = sum_in_lanes(features, projected);
  const normalize_derivative<wide> f{of, static_cast<wide>(sum / count), static_cast<wide>(product / count)};
  run_mixed<T>(set, f, features, written{dx}, taken{dy, x, weight});
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void layer_norm_forward(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* output,
                        accumulated<T>* statistics, const T* input, const T* weight, const T* bias) {
  const detail::set_for_results<T> set = detail::widest_for_results<T>();
  const auto keep = [&](std::size_t row, const detail::statistics_of_row<accumulated<T>>& of) {
    if (statistics == nullptr) return;
    statistics[2 * row] = of.mean;
    statistics[2 * row + 1] = of.inverse;
  };
  detail::for_each_stretch_of_rows(
      queue, rows, features, [&](std::size_t begin, std::size_t end, [[maybe_unused]] std::span<std::byte> scratch) {
        if constexpr (detail::is_narrow<T>)
          if (detail::widened_rows own(scratch); own.fit<T>(3, features)) {
            const accumulated<T>*const w = own.read(weight, features), *const b = own.read(bias, features);
            accumulated<T>* const x = own.take<T>(features);
            for (std::size_t row = begin; row < end; ++row) {
              detail::widen(x, input + row * features, features);
              keep(row, detail::normalize_row<T, accumulated<T>>(set, features, eps, output + row * features, x, w, b));
            }
            return;
          }
        for (std::size_t row = begin; row < end; ++row)
          keep(row, detail::normalize_row(set, features, eps, output + row * features, input + row * features, weight, bias));
      });
}

template <class T>
void layer_norm_backward(cpu::queue& queue, std::size_t rows, std::size_t features, T* input_gradient,
                         accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight) {
  using wide = accumulated<T>;
  const detail::set_for_results<T> set = detail::widest_for_results<T>();
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
      for (auto* const sums : {&dw, &db}) detail::end_chain(detail::widest_for_elements(), *sums, columns);
    }
    for (std::size_t j = 0; j < columns; ++j) {
      weight_gradient[begin + j] = static_cast<wide>(dw.total[j]);
      bias_gradient[begin + j] = static_cast<wide>(db.total[j]);
    }
  });
  if (input_gradient == nullptr) return;

  detail::for_each_stretch_of_rows(
      queue, rows, features, [&](std::size_t begin, std::size_t end, [[maybe_unused]] std::span<std::byte> scratch) {
        if constexpr (detail::is_narrow<T>)
          if (detail::widened_rows own(scratch); own.fit<T>(3, features)) {
            const wide* const w = own.read(weight, features);
            wide *const x = own.take<T>(features), *const dy = own.take<T>(features);
            for (std::size_t row = begin; row < end; ++row) {
              detail::widen(x, input + row * features, features);
              detail::widen(dy, output_gradient + row * features, features);
              detail::differentiate_row<T, wide>(set, features, input_gradient + row * features, dy, x, w, of_row(row));
            }
            return;
          }
        for (std::size_t row = begin; row < end; ++row)
          detail::differentiate_row(set, features, input_gradient + row * features, output_gradient + row * features,
                                    input + row * features, weight, of_row(row));
      });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
