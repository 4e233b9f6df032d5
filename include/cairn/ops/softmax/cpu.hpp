// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
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
  instruction_set set = widest_for_elements(), set_of_results = widest_for_results<T>();

  void run(std::size_t columns, T* y, const T* x) const {
    widened_row<T> own;
    const shifted_exponential<wide> f{largest(x, columns)};
    const auto exponentials = [&](std::size_t begin, std::size_t count) {
      wide* const to = own.room(y + begin);
      run_elements(set, f, count, std::array<wide*, 1>{to}, std::array<const wide*, 1>{own.read(x + begin, count)});
      return to;
    };
    double sum = 0;
    for (std::size_t begin = 0; begin < columns; begin += strip) {
      const std::size_t count = std::min(strip, columns - begin);
      const wide* const e = exponentials(begin, count);
      add_terms<T>(sum, count, [e](std::size_t j) __attribute__((always_inline)) { return static_cast<double>(e[j]); });
    }
    const scaled<wide> share{static_cast<wide>(1 / sum)};
    for (std::size_t begin = 0; begin < columns; begin += strip) {
      const std::size_t count = std::min(strip, columns - begin);
      wide* const e = is_narrow<T> && columns > strip ? exponentials(begin, count) : own.room(y + begin);
      run_elements(set_of_results, share, count, std::array<wide*, 1>{e}, std::array<const wide*, 1>{e});
      own.write(y + begin, count);
    }
  }
};

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
  const detail::instruction_set set = detail::widest_for_results<T>();
  detail::for_each_row(queue, rows, columns, [&](std::size_t row) {
    const T *const dy = output_gradient + row * columns, *const y = output + row * columns;
    const double product = detail::sum_in_lanes(columns, [=](std::size_t j) __attribute__((always_inline)) {
      return static_cast<double>(dy[j]) * static_cast<double>(y[j]);
    });
    detail::run_elements(set, detail::softmax_derivative<wide>{static_cast<wide>(product)}, columns,
                         std::array{input_gradient + row * columns}, std::array{dy, y});
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
