// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/sigmoid/sigmoid.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn {

namespace detail {

struct sigmoid_element {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x) const {
    x = logistic(x);
  }
};

struct sigmoid_derivative {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T y) const {
    gradient *= y * (T{1} - y);
  }
};

} // namespace detail

template <class T>
void sigmoid_forward(cpu::queue& queue, std::size_t count, T* output, const T* input) {
  detail::elementwise(queue, count, detail::sigmoid_element{}, std::array{output}, std::array{input});
}

template <class T>
void sigmoid_backward(cpu::queue& queue, std::size_t count, T* input_gradient, const T* output_gradient, const T* output) {
  detail::elementwise(queue, count, detail::sigmoid_derivative{}, std::array{input_gradient},
                      std::array{output_gradient, output});
}

} // namespace cairn

CAIRN_KERNELS_END
