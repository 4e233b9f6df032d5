// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/softmax_cross_entropy/cpu.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// 16-bit logits, with or without options. There is no memory for a row's exponentials in float, so they are computed twice: for
// the sum and for the gradient, which is rounded once.
template <narrow_element T, class Target>
struct narrow_cross_entropy {
  using wide = accumulated<T>;

  const T* logits;
  T* gradient;
  const Target* targets;
  std::size_t classes;
  cross_entropy_options<T> options;
  bool ignores; // whether options.ignore_index applies
  instruction_set set;
  double share = 0;  // 1 / W
  double spread = 0; // a / C
  double all = 0;    // a / C times the sum of the class weights

  double weight(std::size_t c) const {
    return options.class_weights == nullptr ? 1 : static_cast<double>(options.class_weights[c]);
  }
  std::size_t target(std::size_t row) const { return static_cast<std::size_t>(targets[row]); }
  bool ignored(std::size_t row) const { return ignores && std::cmp_equal(+targets[row], options.ignore_index); }

  // Sets the members that depend on all rows or all classes.
  void prepare(std::size_t rows) {
    double total = 0, every = 0;
    for (std::size_t row = 0; row < rows; ++row) total += ignored(row) ? 0 : weight(target(row));
    for (std::size_t c = 0; c < classes; ++c) every += weight(c);
    share = total == 0 ? 0 : 1 / total;
    spread = options.label_smoothing / static_cast<double>(classes);
    all = spread * every;
  }

  // Calls f(first class, count, exponentials of their distances from the largest logit), a piece of the row at a time.
  template <class F>
  void for_each_piece(const T* x, wide most, F&& f) const {
    constexpr std::size_t piece = 1024;
    alignas(64) wide own[piece];
    for (std::size_t begin = 0; begin < classes; begin += piece) {
      const std::size_t count = std::min(piece, classes - begin);
      for (std::size_t c = 0; c < count; ++c) own[c] = static_cast<wide>(x[begin + c]);
      run_elements(set, shifted_exponential<wide>{most}, count, std::array<wide*, 1>{own}, std::array<const wide*, 1>{own});
      f(begin, count, own);
    }
  }

  // The loss of one row, times W.
  double loss_of(std::size_t row) const {
    const T* const x = logits + row * classes;
    T* const result = gradient == nullptr ? nullptr : gradient + row * classes;
    if (ignored(row)) {
      if (result != nullptr) std::fill_n(result, classes, T(wide{0}));
      return 0;
    }
    wide most = static_cast<wide>(x[0]);
    for (std::size_t c = 1; c < classes; ++c) most = static_cast<wide>(x[c]) > most ? static_cast<wide>(x[c]) : most;
    const double own_share = (1 - options.label_smoothing) * weight(target(row));
    const double chosen = static_cast<double>(x[target(row)]) - static_cast<double>(most);
    double sum = 0, distances = 0;
    for (std::size_t c = 0; spread != 0 && c < classes; ++c)
      distances += weight(c) * (static_cast<double>(x[c]) - static_cast<double>(most));
    for_each_piece(x, most, [&](std::size_t, std::size_t count, const wide* e) {
      for (std::size_t c = 0; c < count; ++c) sum += static_cast<double>(e[c]);
    });
    if (result != nullptr) {
      const auto factor = static_cast<wide>(share * (own_share + all) / sum), even = static_cast<wide>(share * spread);
      for_each_piece(x, most, [&](std::size_t begin, std::size_t count, const wide* e) {
        for (std::size_t c = 0; c < count; ++c) {
          wide g = e[c] * factor - even * static_cast<wide>(weight(begin + c));
          if (begin + c == target(row)) g -= static_cast<wide>(share * own_share);
          result[begin + c] = static_cast<T>(g);
        }
      });
    }
    return (own_share + all) * std::log(sum) - own_share * chosen - spread * distances;
  }

  double loss(cpu::queue& queue, std::size_t rows) {
    prepare(rows);
    return share * sum_of_parts(queue, rows, rows_at_once(classes), [&](std::size_t begin, std::size_t end, auto) {
             double part = 0;
             for (std::size_t row = begin; row < end; ++row) part += loss_of(row);
             return part;
           });
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::narrow_element T, std::integral Target>
void softmax_cross_entropy(cpu::queue& queue, double* loss, T* output_gradient, std::type_identity_t<matrix<const T>> logits,
                           const Target* targets) {
  detail::narrow_cross_entropy<T, Target> own{
      logits.data, output_gradient, targets, logits.columns, {}, false, detail::widest_for_elements()};
  *loss = own.loss(queue, logits.rows);
}

template <detail::narrow_element T, std::integral Target>
void softmax_cross_entropy(cpu::queue& queue, double* loss, T* output_gradient, std::type_identity_t<matrix<const T>> logits,
                           const Target* targets, const std::type_identity_t<cross_entropy_options<T>>& options) {
  detail::narrow_cross_entropy<T, Target> own{
      logits.data, output_gradient, targets, logits.columns, options, true, detail::widest_for_elements()};
  *loss = own.loss(queue, logits.rows);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
