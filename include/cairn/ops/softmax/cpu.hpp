// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/alike.hpp>
#include <cairn/ops/elementwise/conversions.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/softmax/formula.hpp>
#include <cairn/ops/softmax/softmax.hpp>
#include <cairn/ops/softmax_cross_entropy/cpu.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// One row, a strip of it at a time. The exponentials of float and double wait in the output for their sum. Those of 16-bit
// elements are floats, and are computed again in a row of several strips.
template <class T>
struct softmax_of_row {
  using wide = accumulated<T>;
  instruction_set set = widest_for_elements();
  set_for_results<T> set_of_results = widest_for_results<T>();

  void run(std::size_t columns, T* y, const T* x) const { run(columns, y, x, shifted_exponential<wide>{largest(x, columns)}); }
  void run_scaled(std::size_t columns, T* y, const T* x, wide scale) const {
    run(columns, y, x, scaled_exponential<wide>{scale, largest(x, columns) * scale});
  }

private:
  template <class F>
  void run(std::size_t columns, T* y, const T* x, const F& f) const {
    widened_row<T> own;
    const auto exponentials = [&](std::size_t begin, std::size_t count) {
      wide* const to = own.room(y + begin);
      run_elements(set, f, count, std::array<wide*, 1>{to}, std::array<const wide*, 1>{own.read(x + begin, count)});
      return to;
    };
    double sum = 0;
    for (std::size_t begin = 0; begin < columns; begin += strip) {
      const std::size_t count = std::min(strip, columns - begin);
      const wide* const e = exponentials(begin, count);
      sum += sum_in_lanes(count, [e](std::size_t j) __attribute__((always_inline)) { return static_cast<double>(e[j]); });
    }
    const scaled<wide> share{static_cast<wide>(1 / sum)};
    for (std::size_t begin = 0; begin < columns; begin += strip) {
      const std::size_t count = std::min(strip, columns - begin);
      wide* const e = is_narrow<T> && columns > strip ? exponentials(begin, count) : own.room(y + begin);
      run_mixed<T>(set_of_results, share, count, written{y + begin}, taken{e});
    }
  }
};

// The sum of dy y over a row.
template <class T>
double softmax_product(std::size_t columns, const T* dy, const T* y) {
  return sum_in_lanes(columns, [=](std::size_t j) __attribute__((always_inline)) {
    return static_cast<double>(dy[j]) * static_cast<double>(y[j]);
  });
}

inline void check_softmax_scale(double scale) {
  if (!(scale > 0)) [[unlikely]]
    throw error("softmax within a part: expected a scale above 0, found " + std::to_string(scale) +
                "; change the sign of the rows instead");
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void softmax_forward(cpu::queue& queue, std::size_t rows, std::size_t columns, T* output, const T* input) {
  const detail::softmax_of_row<T> of;
  detail::for_each_row(queue, rows, columns,
                       [&](std::size_t row) { of.run(columns, output + row * columns, input + row * columns); });
}

template <class T>
void softmax_backward(cpu::queue& queue, std::size_t rows, std::size_t columns, T* input_gradient, const T* output_gradient,
                      const T* output) {
  using wide = accumulated<T>;
  const detail::set_for_results<T> set = detail::widest_for_results<T>();
  const auto differentiate = [&](T* dx, const auto* dy, const auto* y) {
    const detail::softmax_derivative<wide> f{static_cast<wide>(detail::softmax_product(columns, dy, y))};
    detail::run_mixed<T>(set, f, columns, detail::written{dx}, detail::taken{dy, y});
  };
  detail::for_each_stretch_of_rows(queue, rows, columns,
                                   [&](std::size_t begin, std::size_t end, [[maybe_unused]] std::span<std::byte> scratch) {
                                     for (std::size_t at = begin * columns; at < end * columns; at += columns) {
                                       if constexpr (detail::is_narrow<T>)
                                         if (detail::widened_rows own(scratch); own.fit<T>(2, columns)) {
                                           const wide* const dy = own.read(output_gradient + at, columns);
                                           differentiate(input_gradient + at, dy, own.read(output + at, columns));
                                           continue;
                                         }
                                       differentiate(input_gradient + at, output_gradient + at, output + at);
                                     }
                                   });
}

// The same on the calling thread alone, in place: for an op whose parts, which may not call parallel_for, need rows of softmax.
// Each row x becomes softmax(scale x), with the bits of softmax_forward() if the scale is 1; then its gradient by the result
// becomes that by x. Throws an error unless the scale is above 0.
template <class T>
void softmax_in_part(matrix<T> rows, accumulated<T> scale = 1) {
  detail::check_softmax_scale(static_cast<double>(scale));
  const detail::softmax_of_row<T> of;
  for (std::size_t i = 0; i < rows.rows && rows.columns > 0; ++i) of.run_scaled(rows.columns, &rows(i, 0), &rows(i, 0), scale);
}

template <class T>
void softmax_gradient_in_part(matrix<T> gradient, std::type_identity_t<matrix<const T>> output, accumulated<T> scale = 1) {
  using wide = accumulated<T>;
  detail::check_softmax_scale(static_cast<double>(scale));
  detail::check_alike("softmax_gradient_in_part", gradient, output);
  const detail::set_for_results<T> set = detail::widest_for_results<T>();
  for (std::size_t i = 0; i < gradient.rows && gradient.columns > 0; ++i) {
    T* const dy = &gradient(i, 0);
    const T* const y = &output(i, 0);
    const auto product = static_cast<wide>(detail::softmax_product(gradient.columns, dy, y));
    detail::run_elements(set, detail::scaled_softmax_derivative<wide>{product, scale}, gradient.columns, std::array{dy},
                         std::array<const T*, 2>{dy, y});
  }
}

} // namespace cairn::ops

CAIRN_KERNELS_END
