// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/elementwise/mean_of_terms.hpp>
#include <cairn/ops/l1/l1.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn {

namespace detail {

struct absolute_error {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& y, T target) const {
    y = absolute(y - target);
  }
};

// 0 d is 0 for no distance and NaN for NaN.
template <class T>
struct absolute_error_derivative {
  T share; // 1 / count
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& y, T target) const {
    const T distance = y - target;
    y = blend(distance > T{0}, share, blend(distance < T{0}, -share, T{0} * distance));
  }
};

} // namespace detail

template <class T>
void l1(cpu::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output, const accumulated<T>* targets) {

  const detail::absolute_error_derivative<accumulated<T>> derivative{static_cast<accumulated<T>>(1 / static_cast<double>(count))};
  detail::mean_of_terms(queue, loss, output_gradient, count, output, targets, detail::absolute_error{}, derivative);
}

} // namespace cairn

CAIRN_KERNELS_END
