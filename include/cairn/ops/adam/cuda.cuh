// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/adam/adam.hpp>
#include <cairn/ops/adam/cpu.hpp>
#include <cairn/ops/elementwise/cuda.cuh>
#include <cairn/ops/elementwise/cuda_scale.cuh>

namespace cairn::ops {

template <std::floating_point T>
void adam(cuda::queue& queue, std::size_t count, T* parameters, T* mean, T* square, const T* gradients,
          const std::type_identity_t<adam_coefficients<T>>& c) {
  const T *const p = parameters, *const m = mean, *const s = square;
  detail::elementwise(queue, "adam", count, detail::with_scale_of_device<detail::adam_element<T>, T, adam_coefficients<T>>{c},
                      std::array{parameters, mean, square}, std::array{p, m, s, gradients});
}

} // namespace cairn::ops
