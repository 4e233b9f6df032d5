// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/mean_of_terms.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/mean_squared_error/mean_squared_error.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn {

namespace detail {

struct squared_error {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& y, T target) const {
    const T difference = y - target;
    y = difference * difference;
  }
};

template <class T>
struct squared_error_derivative {
  T factor;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& y, T target) const { y = factor * (y - target); }
};

} // namespace detail

template <class T>
void mean_squared_error(cpu::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output,
                        const accumulated<T>* targets) {
  const double sum = detail::sum_of_parts(queue, count, 4096, [&](std::size_t begin, std::size_t end, auto) {
    const T* const y = output + begin;
    const T* const t = targets + begin;
    return detail::sum_in_lanes(end - begin, [y, t](std::size_t i) __attribute__((always_inline)) {
      const auto difference = static_cast<double>(y[i] - t[i]);
      return difference * difference;
    });
  });
  *loss = count == 0 ? 0 : sum / static_cast<double>(count);
  if (output_gradient == nullptr || count == 0) return;
  const detail::squared_error_derivative<T> derivative{static_cast<T>(2.0 / static_cast<double>(count))};
  detail::elementwise(queue, count, derivative, std::array{output_gradient}, std::array{output, targets});
}

// Of elements whose sums are kept in another type: the terms are made in it.
template <detail::narrow_element T>
void mean_squared_error(cpu::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output,
                        const accumulated<T>* targets) {
  const auto factor = static_cast<accumulated<T>>(2.0 / static_cast<double>(count));
  detail::mean_of_terms(queue, loss, output_gradient, count, output, targets, detail::squared_error{},
                        detail::squared_error_derivative<accumulated<T>>{factor});
}

} // namespace cairn

CAIRN_KERNELS_END
