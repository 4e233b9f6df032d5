// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/relu/element.hpp>
#include <cairn/ops/relu/relu.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn {

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
