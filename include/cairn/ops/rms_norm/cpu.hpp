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
#include <cairn/ops/rms_norm/formula.hpp>
#include <cairn/ops/rms_norm/rms_norm.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Normalises one row, and returns its inverse. The result may lie on x. Of 16-bit results the operands may be widened: X is T or
// accumulated<T>.
template <class T, class X, class Set>
accumulated<T> rms_normalize_row(Set set, std::size_t features, double eps, T* y, const X* x, const X* weight) {
  const double squares = sum_in_lanes(features, [x](std::size_t j) __attribute__((always_inline)) {
    const auto value = static_cast<double>(x[j]);
    return value * value;
  });
  const rms_normalize<accumulated<T>> f{inverse_from<accumulated<T>>(squares, static_cast<double>(features), eps)};
  run_mixed<T>(set, f, features, written{y}, taken{x, weight});
  return f.inverse;
}

// The gradient of one row, which may lie on the output gradient.
template <class T, class X, class Set>
void rms_differentiate_row(Set set, std::size_t features, T* dx, const X* dy, const X* x, const X* weight,
                           accumulated<T> inverse) {
  using wide = accumulated<T>;
  const double product = sum_in_lanes(features, [=](std::size_t j) __attribute__((always_inline)) {
    return static_cast<double>(dy[j]) * static_cast<double>(weight[j]) * static_cast<double>(static_cast<wide>(x[j]) * inverse);
  });
  const rms_derivative<wide> f{inverse, static_cast<wide>(product / static_cast<double>(features))};
  run_mixed<T>(set, f, features, written{dx}, taken{dy, x, weight});
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void rms_norm_forward(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* output, accumulated<T>* inverses,
                      const T* input, const T* weight) {
  const detail::set_for_results<T> set = detail::widest_for_results<T>();
  const auto keep = [&](std::size_t row, accumulated<T> inverse) {
    if (inverses != nullptr) inverses[row] = inverse;
  };
  detail::for_each_stretch_of_rows(
      queue, rows, features, [&](std::size_t begin, std::size_t end, [[maybe_unused]] std::span<std::byte> scratch) {
        if constexpr (detail::is_narrow<T>)
          if (detail::widened_rows own(scratch); own.fit<T>(2, features)) {
            const accumulated<T>* const w = own.read(weight, features);
            accumulated<T>* const x = own.take<T>(features);
            for (std::size_t row = begin; row < end; ++row) {
              detail::widen(x, input + row * features, features);
              keep(row, detail::rms_normalize_row<T, accumulated<T>>(set, features, eps, output + row * features, x, w));
            }
            return;
          }
        for (std::size_t row = begin; row < end; ++row)
          keep(row, detail::rms_normalize_row(set, features, eps, output + row * features, input + row * features, weight));
      });
}

template <class T>
void rms_norm_backward(cpu::queue& queue, std::size_t rows, std::size_t features, T* input_gradient,
                       accumulated<T>* weight_gradient, const T* output_gradient, const T* input, const accumulated<T>* inverses,
                       const T* weight) {
  using wide = accumulated<T>;
  const detail::set_for_results<T> set = detail::widest_for_results<T>();
  // The parameters come first: the input gradient may take the place of the output gradient.
  const std::size_t learnt = weight_gradient == nullptr ? 0 : features;
  detail::for_each_strip(queue, rows, learnt, [&](std::size_t begin, std::size_t columns) {
    detail::chained_sums<wide> dw;
    detail::start_sums(dw, columns);
    for (std::size_t row = 0; row < rows;) {
      detail::start_chain(dw, columns);
      for (const std::size_t end = std::min(rows, row + detail::sum_chain); row < end; ++row) {
        const detail::rms_weight_derivative<wide> f{inverses[row]};
        const T *const dy = output_gradient + row * features + begin, *const x = input + row * features + begin;
        if constexpr (detail::is_narrow<T>) // without chains
          detail::add_widened(f, std::array<double*, 1>{dw.total},
                              std::array{matrix<const T>{dy, 1, columns}, matrix<const T>{x, 1, columns}},
                              std::array<const wide*, 0>{});
        else detail::run_elements(set, f, columns, std::array<T*, 1>{dw.chain}, std::array<const T*, 3>{dw.chain, dy, x});
      }
      detail::end_chain(detail::widest_for_elements(), dw, columns);
    }
    for (std::size_t j = 0; j < columns; ++j) weight_gradient[begin + j] = static_cast<wide>(dw.total[j]);
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
              detail::rms_differentiate_row<T, wide>(set, features, input_gradient + row * features, dy, x, w, inverses[row]);
            }
            return;
          }
        for (std::size_t row = begin; row < end; ++row)
          detail::rms_differentiate_row(set, features, input_gradient + row * features, output_gradient + row * features,
                                        input + row * features, weight, inverses[row]);
      });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
