// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/bce_with_logits/bce_with_logits.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/conversions.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/elementwise/sums.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

struct weighted_logit_error {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x, T target, T weight) const {
    const T negative = blend(x < T{0}, -x, T{0}), yes = T{1} + (weight - T{1}) * target;
    x = (T{1} - target) * x + yes * (negative + logarithm_of_one_plus(exponential(-absolute(x))));
  }
};

template <class T>
struct weighted_logit_error_derivative {
  T share; // scale / count
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x, T target, T weight) const {
    const T yes = T{1} + (weight - T{1}) * target;
    x = share * (T{1} - target - yes * logistic(-x));
  }
};

// Applies f, in accumulated<T>, to a piece of the output, of its targets and of the weights, which repeat every `columns`
// elements.
inline constexpr std::size_t weighted_piece = 1024;
template <class T, class R, class F>
void run_with_weights(const F& f, std::size_t begin, std::size_t count, R* made, const T* output, const accumulated<T>* targets,
                      const accumulated<T>* weights, std::size_t columns) {
  alignas(64) accumulated<T> of_elements[weighted_piece];
  std::size_t column = begin % columns;
  for (std::size_t i = 0; i < count; ++i) {
    of_elements[i] = weights[column];
    if (++column == columns) column = 0;
  }
  run_mixed<T>(widest_for_elements(), f, count, written{made}, taken{output + begin, targets + begin, &of_elements[0]});
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void bce_with_logits(cpu::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output,
                     const accumulated<T>* targets, const accumulated<T>* positive_weights, std::size_t columns,
                     const double* gradient_scale = nullptr) {
  using wide = accumulated<T>;
  constexpr std::size_t piece = detail::weighted_piece;
  const double sum = detail::sum_of_parts(queue, count, 4096, [&](std::size_t begin, std::size_t end, auto) {
    alignas(64) wide terms[piece];
    double part = 0;
    for (std::size_t i = begin; i < end; i += piece) {
      const std::size_t length = std::min(piece, end - i);
      detail::run_with_weights(detail::weighted_logit_error{}, i, length, terms, output, targets, positive_weights, columns);
      const wide* const own = terms;
      part += detail::sum_in_lanes(length,
                                   [own](std::size_t j) __attribute__((always_inline)) { return static_cast<double>(own[j]); });
    }
    return part;
  });
  *loss = count == 0 ? 0 : sum / static_cast<double>(count);
  if (output_gradient == nullptr) return;
  const detail::weighted_logit_error_derivative<wide> derivative{
      static_cast<wide>((gradient_scale == nullptr ? 1 : *gradient_scale) / static_cast<double>(count))};
  queue.parallel_for((count + piece - 1) / piece, [&](std::size_t index, auto) {
    const std::size_t begin = index * piece, length = std::min(piece, count - begin);
    detail::run_with_weights(derivative, begin, length, output_gradient + begin, output, targets, positive_weights, columns);
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
