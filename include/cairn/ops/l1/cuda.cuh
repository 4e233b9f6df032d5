// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/elementwise/cuda_mean_of_terms.cuh>
#include <cairn/ops/l1/cpu.hpp>
#include <cairn/ops/l1/l1.hpp>

namespace cairn {

template <std::floating_point T>
void l1(cuda::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output, const T* targets) {
  const T share = static_cast<T>(1.0 / static_cast<double>(count));
  detail::mean_of_terms(queue, "l1", loss, output_gradient, count, output, targets, detail::absolute_error{},
                        detail::absolute_error_derivative<T>{share});
}

} // namespace cairn
