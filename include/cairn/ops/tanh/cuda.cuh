// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/elementwise/cuda.cuh>
#include <cairn/ops/tanh/element.hpp>
#include <cairn/ops/tanh/tanh.hpp>

namespace cairn {

template <std::floating_point T>
void tanh_forward(cuda::queue& queue, std::size_t count, T* output, const T* input) {
  detail::elementwise(queue, "tanh_forward", count, detail::tanh_element{}, std::array{output}, std::array{input});
}

template <std::floating_point T>
void tanh_backward(cuda::queue& queue, std::size_t count, T* input_gradient, const T* output_gradient, const T* output) {
  detail::elementwise(queue, "tanh_backward", count, detail::tanh_derivative{}, std::array{input_gradient},
                      std::array{output_gradient, output});
}

} // namespace cairn
