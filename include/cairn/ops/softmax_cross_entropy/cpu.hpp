// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/softmax_cross_entropy/softmax_cross_entropy.hpp>

namespace cairn {

namespace detail {

template <class T>
struct shifted_exponential {
  T shift;
  [[gnu::always_inline]] inline void operator()(T& x) const { x = exponential(x - shift); }
};

template <class T>
struct times {
  T factor;
  [[gnu::always_inline]] inline void operator()(T& x) const { x *= factor; }
};

// e^(x - shift) for one row, written to `to` unless it is null, and the sum of them.
template <class T>
double exponentials(instruction_set set, T* to, const T* row, std::size_t classes, T shift) {
  constexpr std::size_t piece = 1024;
  alignas(64) std::array<T, piece> own;
  double sum = 0;
  for (std::size_t begin = 0; begin < classes; begin += piece) {
    const std::size_t count = std::min(piece, classes - begin);
    T* const result = to == nullptr ? own.data() : to + begin;
    run_elements(set, shifted_exponential<T>{shift}, count, std::array{result}, std::array{row + begin});
    sum += sum_in_lanes(count, [result](std::size_t j) { return static_cast<double>(result[j]); });
  }
  return sum;
}

} // namespace detail

template <class T, std::integral Target>
void softmax_cross_entropy(cpu::queue& queue, double* loss, T* output_gradient,
                           std::type_identity_t<matrix<const T>> logits, const Target* targets) {
  const std::size_t rows = logits.rows, classes = logits.columns;
  detail::check_targets(targets, rows, classes);
  const instruction_set set = detail::widest_for_elements();
  const double share = rows == 0 ? 0 : 1.0 / static_cast<double>(rows);
  const auto row_loss = [&](std::size_t row) {
    const T* const x = &logits(row, 0);
    const auto target = static_cast<std::size_t>(targets[row]);
    const T most = *std::max_element(x, x + classes);
    const double distance = static_cast<double>(x[target]) - static_cast<double>(most);
    T* const gradient = output_gradient == nullptr ? nullptr : output_gradient + row * classes;
    const double sum = detail::exponentials(set, gradient, x, classes, most);
    if (gradient != nullptr) {
      const detail::times<T> scale{static_cast<T>(share / sum)};
      detail::run_elements(set, scale, classes, std::array{gradient},
                           std::array{static_cast<const T*>(gradient)});
      gradient[target] -= static_cast<T>(share);
    }
    return std::log(sum) - distance;
  };
  const std::size_t grain = std::max<std::size_t>(1, 4096 / classes);
  const double sum = detail::ordered_sum(queue, rows, grain, [&](std::size_t begin, std::size_t end, auto) {
    double part = 0;
    for (std::size_t row = begin; row < end; ++row) part += row_loss(row);
    return part;
  });
  *loss = sum * share;
}

} // namespace cairn
