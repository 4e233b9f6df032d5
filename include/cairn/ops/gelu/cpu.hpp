// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/gelu/element.hpp>
#include <cairn/ops/gelu/gelu.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn {

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
