// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/mean_of_terms/mean_of_terms.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// A derivative divided by the number of elements, times a scale.
template <class T, class Derivative>
struct share_of_derivative {
  T share; // 1 / count
  Derivative derivative;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& y, T target) const { y = share * derivative(y, target); }
};
template <class T, class Derivative>
share_of_derivative<T, Derivative> over_count(const Derivative& derivative, std::size_t count, double scale = 1) {
  return {static_cast<T>(scale / static_cast<double>(count)), derivative};
}

template <class Term>
inline constexpr bool gives_double = std::same_as<std::invoke_result_t<const Term&, float, float>, double>;

} // namespace cairn::detail

namespace cairn::ops {

// Terms are computed in accumulated<T>, in pieces that stay in the innermost cache.
template <class T, class Term, class Derivative>
void mean_of_terms(cpu::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output,
                   const accumulated<T>* targets, const Term& term, const Derivative& derivative,
                   const double* gradient_scale = nullptr) {
  using wide = accumulated<T>;
  constexpr std::size_t piece = 1024;
  const detail::instruction_set set = detail::widest_for_elements();
  const double sum = detail::sum_of_parts(queue, count, 4096, [&](std::size_t begin, std::size_t end, auto) {
    if constexpr (detail::gives_double<Term> && !detail::is_narrow<T>) {
      const T *const y = output + begin, *const t = targets + begin;
      return detail::sum_in_lanes(end - begin, [y, t, term](std::size_t i) __attribute__((always_inline)) {
        return static_cast<double>(term(y[i], t[i]));
      });
    } else {
      alignas(64) wide terms[piece];
      double part = 0;
      for (std::size_t i = begin; i < end; i += piece) {
        const std::size_t length = std::min(piece, end - i);
        detail::run_mixed<T>(set, detail::leaves_result<Term>{term}, length, detail::written{&terms[0]},
                             detail::taken{output + i, targets + i});
        const wide* const own = terms;
        part += detail::sum_in_lanes(length,
                                     [own](std::size_t j) __attribute__((always_inline)) { return static_cast<double>(own[j]); });
      }
      return part;
    }
  });
  *loss = count == 0 ? 0 : sum / static_cast<double>(count);
  if (output_gradient == nullptr || count == 0) return;
  const auto share = detail::over_count<wide>(derivative, count, gradient_scale == nullptr ? 1 : *gradient_scale);
  if constexpr (!detail::is_narrow<T>) {
    detail::elementwise(queue, count, share, std::array{output_gradient}, std::array{output, targets});
  } else {
    queue.parallel_for((count + piece - 1) / piece, [&](std::size_t index, auto) {
      const std::size_t begin = index * piece, length = std::min(piece, count - begin);
      detail::run_mixed<T>(set, share, length, detail::written{output_gradient + begin},
                           detail::taken{output + begin, targets + begin});
    });
  }
}

} // namespace cairn::ops

CAIRN_KERNELS_END
