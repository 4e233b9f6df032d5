// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/elementwise/cuda_mean_of_terms.cuh>
#include <cairn/ops/mean_squared_error/cpu.hpp>
#include <cairn/ops/mean_squared_error/mean_squared_error.hpp>

namespace cairn {

template <std::floating_point T>
void mean_squared_error(cuda::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output,
                        const T* targets) {
  const T share = static_cast<T>(2.0 / static_cast<double>(count));
  detail::mean_of_terms(queue, "mean_squared_error", loss, output_gradient, count, output, targets, detail::squared_error{},
                        detail::squared_error_derivative<T>{share});
}

} // namespace cairn
