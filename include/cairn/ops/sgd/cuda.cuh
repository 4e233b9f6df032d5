// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/elementwise/cuda.cuh>
#include <cairn/ops/elementwise/cuda_scale.cuh>
#include <cairn/ops/sgd/cpu.hpp>
#include <cairn/ops/sgd/sgd.hpp>

namespace cairn::ops {

template <std::floating_point T>
void sgd(cuda::queue& queue, std::size_t count, T* parameters, T* velocity, const T* gradients,
         const std::type_identity_t<sgd_coefficients<T>>& c) {
  const T *const p = parameters, *const v = velocity;
  const auto update = [&]<class Element>(std::type_identity<Element>, const auto& results, const auto& sources) {
    detail::elementwise(queue, "sgd", count, detail::with_scale_of_device<Element, T, sgd_coefficients<T>>{c}, results, sources);
  };
  if (c.momentum == T{0}) update(std::type_identity<detail::sgd_element<T>>{}, std::array{parameters}, std::array{p, gradients});
  else if (c.nesterov)
    update(std::type_identity<detail::sgd_momentum_element<T, true>>{}, std::array{parameters, velocity},
           std::array{p, v, gradients});
  else
    update(std::type_identity<detail::sgd_momentum_element<T, false>>{}, std::array{parameters, velocity},
           std::array{p, v, gradients});
}

} // namespace cairn::ops
