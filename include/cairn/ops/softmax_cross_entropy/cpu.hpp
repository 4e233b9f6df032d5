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
struct scaled {
  T factor;
  [[gnu::always_inline]] inline void operator()(T& x) const { x *= factor; }
};

template <class T>
T largest(const T* row, std::size_t classes) {
  T most = row[0];
  for (std::size_t c = 1; c < classes; ++c) most = row[c] > most ? row[c] : most;
  return most;
}

// One call's arguments; a gradient of null is not wanted.
template <class T, class Target>
struct cross_entropy {
  const T* logits;
  T* gradient;
  const Target* targets;
  std::size_t classes;
  double share; // 1 / rows
  instruction_set set;

  std::size_t target(std::size_t row) const { return static_cast<std::size_t>(targets[row]); }
  double distance(std::size_t row, T most) const {
    return static_cast<double>(logits[row * classes + target(row)]) - static_cast<double>(most);
  }

  // The loss of one row, a piece of the row at a time.
  double long_row(std::size_t row) const {
    constexpr std::size_t piece = 1024;
    alignas(64) std::array<T, piece> own;
    const T* const x = logits + row * classes;
    T* const result = gradient == nullptr ? nullptr : gradient + row * classes;
    const T most = largest(x, classes);
    const double chosen = distance(row, most);
    double sum = 0;
    for (std::size_t begin = 0; begin < classes; begin += piece) {
      const std::size_t count = std::min(piece, classes - begin);
      T* const to = result == nullptr ? own.data() : result + begin;
      run_elements(set, shifted_exponential<T>{most}, count, std::array{to}, std::array{x + begin});
      sum += sum_in_lanes(count, [to](std::size_t c) { return static_cast<double>(to[c]); });
    }
    if (result != nullptr) {
      run_elements(set, scaled<T>{static_cast<T>(share / sum)}, classes, std::array{result},
                   std::array<const T*, 1>{result});
      result[target(row)] -= static_cast<T>(share);
    }
    return std::log(sum) - chosen;
  }

  // The sum of the losses of several rows of at most `short_row` classes: one array of exponentials for many
  // rows, since a block of vector code is as long as a short row.
  static constexpr std::size_t short_row = 64;

  double short_rows(std::size_t first, std::size_t last) const {
    constexpr std::size_t room = 1024;
    alignas(64) std::array<T, room> own;
    std::array<double, room> chosen;
    const std::size_t rows = room / classes;
    double loss = 0;
    for (std::size_t begin = first; begin < last; begin += rows) {
      const std::size_t count = std::min(rows, last - begin);
      for (std::size_t row = 0; row < count; ++row) {
        const T* const x = logits + (begin + row) * classes;
        const T most = largest(x, classes);
        chosen[row] = distance(begin + row, most);
        for (std::size_t c = 0; c < classes; ++c) own[row * classes + c] = x[c] - most;
      }
      run_elements(set, shifted_exponential<T>{T{0}}, count * classes, std::array{own.data()},
                   std::array<const T*, 1>{own.data()});
      for (std::size_t row = 0; row < count; ++row) {
        const T* const e = own.data() + row * classes;
        double sum = 0;
        for (std::size_t c = 0; c < classes; ++c) sum += static_cast<double>(e[c]);
        loss += std::log(sum) - chosen[row];
        if (gradient == nullptr) continue;
        T* const result = gradient + (begin + row) * classes;
        const T scale = static_cast<T>(share / sum);
        for (std::size_t c = 0; c < classes; ++c) result[c] = e[c] * scale;
        result[target(begin + row)] -= static_cast<T>(share);
      }
    }
    return loss;
  }
};

} // namespace detail

template <class T, std::integral Target>
void softmax_cross_entropy(cpu::queue& queue, double* loss, T* output_gradient,
                           std::type_identity_t<matrix<const T>> logits, const Target* targets) {
  const std::size_t rows = logits.rows, classes = logits.columns;
  detail::check_classes(targets, rows, classes);
  using call = detail::cross_entropy<T, Target>;
  const double share = rows == 0 ? 0 : 1.0 / static_cast<double>(rows);
  const call own{logits.data, output_gradient, targets, classes, share, detail::widest_for_elements()};
  const std::size_t grain = std::max<std::size_t>(1, 4096 / classes);
  const double sum = detail::sum_of_parts(queue, rows, grain, [&](std::size_t begin, std::size_t end, auto) {
    if (classes <= call::short_row) return own.short_rows(begin, end);
    double part = 0;
    for (std::size_t row = begin; row < end; ++row) part += own.long_row(row);
    return part;
  });
  *loss = sum * share;
}

} // namespace cairn
