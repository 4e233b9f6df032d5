// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/gelu/gelu.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn {

namespace detail {

struct gelu_element {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x) const {
    x *= normal_at(x).below;
  }
};

struct gelu_derivative {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T x) const {
    const normal<T> at = normal_at(x);
    gradient *= at.below + x * at.density;
  }
};

} // namespace detail

template <class T>
void gelu_forward(cpu::queue& queue, std::size_t count, T* output, const T* input) {
  detail::elementwise(queue, count, detail::gelu_element{}, std::array{output}, std::array{input});
}

template <class T>
void gelu_backward(cpu::queue& queue, std::size_t count, T* input_gradient, const T* output_gradient, const T* input) {
  detail::elementwise(queue, count, detail::gelu_derivative{}, std::array{input_gradient}, std::array{output_gradient, input});
}

} // namespace cairn

CAIRN_KERNELS_END
