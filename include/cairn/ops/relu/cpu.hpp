// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/relu/relu.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn {

namespace detail {

struct relu_element {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x) const {
    x = blend(x < T{0}, T{0}, x);
  }
};

struct relu_derivative {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T y) const {
    gradient = blend(y <= T{0}, T{0}, gradient);
  }
};

} // namespace detail

template <class T>
void relu_forward(cpu::queue& queue, std::size_t count, T* output, const T* input) {
  detail::elementwise(queue, count, detail::relu_element{}, std::array{output}, std::array{input});
}

template <class T>
void relu_backward(cpu::queue& queue, std::size_t count, T* input_gradient, const T* output_gradient, const T* output) {
  detail::elementwise(queue, count, detail::relu_derivative{}, std::array{input_gradient}, std::array{output_gradient, output});
}

} // namespace cairn

CAIRN_KERNELS_END
