// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/elementwise/mean_of_terms.hpp>
#include <cairn/ops/l1/cpu.hpp>
#include <cairn/ops/smooth_l1/smooth_l1.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn {

namespace detail {

template <class T>
struct smooth_error {
  T beta;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& y, T target) const {
    const T distance = absolute(y - target);
    y = blend(distance < beta, T{0.5} * distance * distance / beta, distance - T{0.5} * beta);
  }
};

// Of NaN the inner choice is the last, d / beta, which is NaN.
template <class T>
struct smooth_error_derivative {
  T beta, share; // 1 / count
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& y, T target) const {
    const T distance = y - target;
    y = share * blend(distance >= beta, T{1}, blend(distance <= -beta, T{-1}, distance / beta));
  }
};

} // namespace detail

template <class T>
void smooth_l1(cpu::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output,
               const accumulated<T>* targets, double beta) {

  if (beta <= 0) return l1(queue, loss, output_gradient, count, output, targets);
  using sum = accumulated<T>;
  const auto at = static_cast<sum>(beta), share = static_cast<sum>(1 / static_cast<double>(count));
  detail::mean_of_terms(queue, loss, output_gradient, count, output, targets, detail::smooth_error<sum>{at},
                        detail::smooth_error_derivative<sum>{at, share});
}

} // namespace cairn

CAIRN_KERNELS_END
