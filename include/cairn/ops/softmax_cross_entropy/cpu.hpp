// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/softmax_cross_entropy/softmax_cross_entropy.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

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

// The arguments of one call; the gradient is null if it is not wanted.
template <class T, class Target>
struct cross_entropy {
  const T* logits;
  T* gradient;
  const Target* targets;
  std::size_t classes;
  double share; // 1 / rows
  instruction_set set;

  // The element of a row that belongs to its target.
  template <class Number>
  Number& of_target(Number* numbers, std::size_t row) const {
    return numbers[static_cast<std::ptrdiff_t>(targets[row])];
  }
  double distance(std::size_t row, T most) const {
    return static_cast<double>(of_target(logits + row * classes, row)) - static_cast<double>(most);
  }

  // The loss of one row, a piece of the row at a time.
  double long_row(std::size_t row) const {
    constexpr std::size_t piece = 1024;
    alignas(64) T own[piece];
    const T* const x = logits + row * classes;
    T* const result = gradient == nullptr ? nullptr : gradient + row * classes;
    const T most = largest(x, classes);
    const double chosen = distance(row, most);
    double sum = 0;
    for (std::size_t begin = 0; begin < classes; begin += piece) {
      const std::size_t count = std::min(piece, classes - begin);
      T* const to = result == nullptr ? own : result + begin;
      run_elements(set, shifted_exponential<T>{most}, count, std::array{to}, std::array{x + begin});
      sum += sum_in_lanes(count, [to](std::size_t c) __attribute__((always_inline)) { return static_cast<double>(to[c]); });
    }
    if (result != nullptr) {
      run_elements(set, scaled<T>{static_cast<T>(share / sum)}, classes, std::array{result}, std::array<const T*, 1>{result});
      of_target(result, row) -= static_cast<T>(share);
    }
    return std::log(sum) - chosen;
  }

  // The sum of the losses of several rows of at most `short_row` classes. Many rows share one array of exponentials, since a
  // block of vector code is as long as a short row.
  static constexpr std::size_t short_row = 64;

  double short_rows(std::size_t first, std::size_t last) const {
    constexpr std::size_t room = 1024;
    alignas(64) T own[room];
    double chosen[room];
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
      run_elements(set, shifted_exponential<T>{T{0}}, count * classes, std::array<T*, 1>{own}, std::array<const T*, 1>{own});
      for (std::size_t row = 0; row < count; ++row) {
        const T* const e = own + row * classes;
        double sum = 0;
        for (std::size_t c = 0; c < classes; ++c) sum += static_cast<double>(e[c]);
        loss += std::log(sum) - chosen[row];
        if (gradient == nullptr) continue;
        T* const result = gradient + (begin + row) * classes;
        const T scale = static_cast<T>(share / sum);
        for (std::size_t c = 0; c < classes; ++c) result[c] = e[c] * scale;
        of_target(result, begin + row) -= static_cast<T>(share);
      }
    }
    return loss;
  }
};

template <class T>
struct lowered_by_weight {
  T factor;
  [[gnu::always_inline]] inline void operator()(T& x, T weight) const { x -= factor * weight; }
};
template <class T>
struct lowered {
  T amount;
  [[gnu::always_inline]] inline void operator()(T& x) const { x -= amount; }
};

// The same with options, without a special form for short rows.
template <class T, class Target>
struct cross_entropy_with_options {
  const T* logits;
  T* gradient;
  const Target* targets;
  std::size_t classes;
  cross_entropy_options<T> options;
  instruction_set set;
  double share = 0;  // 1 / W
  double spread = 0; // a / C
  double all = 0;    // a / C times the sum of the class weights

  double weight(std::size_t c) const {
    return options.class_weights == nullptr ? 1 : static_cast<double>(options.class_weights[c]);
  }
  std::size_t target(std::size_t row) const { return static_cast<std::size_t>(targets[row]); }
  bool ignored(std::size_t row) const { return std::cmp_equal(+targets[row], options.ignore_index); }

  // Sets the members that depend on all rows or all classes.
  void prepare(std::size_t rows) {
    double total = 0, every = 0;
    for (std::size_t row = 0; row < rows; ++row) total += ignored(row) ? 0 : weight(target(row));
    for (std::size_t c = 0; c < classes; ++c) every += weight(c);
    share = total == 0 ? 0 : 1 / total;
    spread = options.label_smoothing / static_cast<double>(classes);
    all = spread * every;
  }

  // The loss of one row, times W, a piece of the row at a time.
  double loss_of(std::size_t row) const {
    constexpr std::size_t piece = 1024;
    alignas(64) T own[piece];
    const T* const x = logits + row * classes;
    T* const result = gradient == nullptr ? nullptr : gradient + row * classes;
    if (ignored(row)) {
      if (result != nullptr) std::fill_n(result, classes, T{0});
      return 0;
    }
    const T most = largest(x, classes);
    const double own_share = (1 - options.label_smoothing) * weight(target(row));
    const double chosen = static_cast<double>(x[target(row)]) - static_cast<double>(most);
    double sum = 0, distances = 0;
    for (std::size_t begin = 0; begin < classes; begin += piece) {
      const std::size_t count = std::min(piece, classes - begin);
      T* const to = result == nullptr ? own : result + begin;
      const auto distance = [x, begin, most](std::size_t c) __attribute__((always_inline)) {
        return static_cast<double>(x[begin + c]) - static_cast<double>(most);
      };
      const accumulated<T>* const weights = options.class_weights == nullptr ? nullptr : options.class_weights + begin;
      const auto weighted = [weights, distance](std::size_t c)
                                __attribute__((always_inline)) { return static_cast<double>(weights[c]) * distance(c); };
      if (spread != 0) // before the exponentials may overwrite the logits
        distances += weights == nullptr ? sum_in_lanes(count, distance) : sum_in_lanes(count, weighted);
      run_elements(set, shifted_exponential<T>{most}, count, std::array{to}, std::array{x + begin});
      sum += sum_in_lanes(count, [to](std::size_t c) __attribute__((always_inline)) { return static_cast<double>(to[c]); });
    }
    if (result != nullptr) {
      const T* const e = result;
      run_elements(set, scaled<T>{static_cast<T>(share * (own_share + all) / sum)}, classes, std::array{result}, std::array{e});
      const T even = static_cast<T>(share * spread);
      if (spread != 0 && options.class_weights == nullptr)
        run_elements(set, lowered<T>{even}, classes, std::array{result}, std::array{e});
      else if (spread != 0)
        run_elements(set, lowered_by_weight<T>{even}, classes, std::array{result}, std::array{e, options.class_weights});
      result[target(row)] -= static_cast<T>(share * own_share);
    }
    return (own_share + all) * std::log(sum) - own_share * chosen - spread * distances;
  }
};

// Rows are added up in parts of about 4096 logits.
inline std::size_t rows_at_once(std::size_t classes) { return std::max<std::size_t>(1, 4096 / classes); }

} // namespace cairn::detail

namespace cairn::ops {

template <class T, std::integral Target>
void softmax_cross_entropy(cpu::queue& queue, double* loss, T* output_gradient, std::type_identity_t<matrix<const T>> logits,
                           const Target* targets) {
  const std::size_t rows = logits.rows, classes = logits.columns;
  using call = detail::cross_entropy<T, Target>;
  const double share = rows == 0 ? 0 : 1.0 / static_cast<double>(rows);
  const call own{logits.data, output_gradient, targets, classes, share, detail::widest_for_elements()};
  const std::size_t grain = detail::rows_at_once(classes);
  const double sum = detail::sum_of_parts(queue, rows, grain, [&](std::size_t begin, std::size_t end, auto) {
    if (classes <= call::short_row) return own.short_rows(begin, end);
    double part = 0;
    for (std::size_t row = begin; row < end; ++row) part += own.long_row(row);
    return part;
  });
  *loss = sum * share;
}

template <class T, std::integral Target>
void softmax_cross_entropy(cpu::queue& queue, double* loss, T* output_gradient, std::type_identity_t<matrix<const T>> logits,
                           const Target* targets, const std::type_identity_t<cross_entropy_options<T>>& options) {
  const std::size_t rows = logits.rows, classes = logits.columns;
  detail::cross_entropy_with_options<T, Target> own{logits.data, output_gradient, targets,
                                                    classes,     options,         detail::widest_for_elements()};
  own.prepare(rows);
  const std::size_t grain = detail::rows_at_once(classes);
  const double sum = detail::sum_of_parts(queue, rows, grain, [&](std::size_t begin, std::size_t end, auto) {
    double part = 0;
    for (std::size_t row = begin; row < end; ++row) part += own.loss_of(row);
    return part;
  });
  *loss = sum * own.share;
}

} // namespace cairn::ops

CAIRN_KERNELS_END
