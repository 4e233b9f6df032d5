// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/elementwise/cuda.cuh>
#include <cairn/ops/gelu/element.hpp>
#include <cairn/ops/gelu/gelu.hpp>

namespace cairn {

template <std::floating_point T>
void gelu_forward(cuda::queue& queue, std::size_t count, T* output, const T* input) {
  detail::elementwise(queue, "gelu_forward", count, detail::gelu_element{}, std::array{output}, std::array{input});
}

template <std::floating_point T>
void gelu_backward(cuda::queue& queue, std::size_t count, T* input_gradient, const T* output_gradient, const T* input) {
  detail::elementwise(queue, "gelu_backward", count, detail::gelu_derivative{}, std::array{input_gradient},
                      std::array{output_gradient, input});
}

} // namespace cairn
