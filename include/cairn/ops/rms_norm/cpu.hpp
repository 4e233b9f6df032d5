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
#include <cairn/ops/rms_norm/formula.hpp>
#include <cairn/ops/rms_norm/rms_norm.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::ops {

template <class T>
void rms_norm_forward(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* output, accumulated<T>* inverses,
                      const T* input, const T* weight) {
  const detail::instruction_set set = detail::widest_for_results<T>();
  detail::for_each_row(queue, rows, features, [&](std::size_t row) {
    const T* const x = input + row * features;
    const double squares = detail::sum_in_lanes(features, [x](std::size_t j) __attribute__((always_inline)) {
      const auto value = static_cast<double>(x[j]);
      return value * value;
    });
    const detail::rms_normalize<accumulated<T>> f{
        detail::inverse_from<accumulated<T>>(squares, static_cast<double>(features), eps)};
    if (inverses != nullptr) inverses[row] = f.inverse;
    detail::run_elements(set, f, features, std::array{output + row * features}, std::array{x, weight});
  });
}

template <class T>
void rms_norm_backward(cpu::queue& queue, std::size_t rows, std::size_t features, T* input_gradient,
                       accumulated<T>* weight_gradient, const T* output_gradient, const T* input, const accumulated<T>* inverses,
                       const T* weight) {
  using wide = accumulated<T>;
  const detail::instruction_set set = detail::widest_for_results<T>();
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
      detail::end_chain(set, dw, columns);
    }
    for (std::size_t j = 0; j < columns; ++j) weight_gradient[begin + j] = static_cast<wide>(dw.total[j]);
  });
  if (input_gradient == nullptr) return;

  detail::for_each_row(queue, rows, features, [&](std::size_t row) {
    const T *const x = input + row * features, *const dy = output_gradient + row * features;
    const wide inverse = inverses[row];
    const double product = detail::sum_in_lanes(features, [=](std::size_t j) __attribute__((always_inline)) {
      return static_cast<double>(dy[j]) * static_cast<double>(weight[j]) * static_cast<double>(static_cast<wide>(x[j]) * inverse);
    });
    const detail::rms_derivative<wide> f{inverse, static_cast<wide>(product / static_cast<double>(features))};
    detail::run_elements(set, f, features, std::array{input_gradient + row * features}, std::array{dy, x, weight});
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
