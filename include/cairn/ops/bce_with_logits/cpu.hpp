// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/bce_with_logits/bce_with_logits.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/elementwise/mean_of_terms.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn {

namespace detail {

struct logit_error {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x, T target) const {
    const T positive = blend(x < T{0}, T{0}, x);
    x = positive - x * target + logarithm_of_one_plus(exponential(-absolute(x)));
  }
};

template <class T>
struct logit_error_derivative {
  T share; // 1 / count
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x, T target) const { x = share * (logistic(x) - target); }
};

} // namespace detail

template <class T>
void bce_with_logits(cpu::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output,
                     const accumulated<T>* targets) {

  const detail::logit_error_derivative<accumulated<T>> derivative{static_cast<accumulated<T>>(1 / static_cast<double>(count))};
  detail::mean_of_terms(queue, loss, output_gradient, count, output, targets, detail::logit_error{}, derivative);
}

} // namespace cairn

CAIRN_KERNELS_END
