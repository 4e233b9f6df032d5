// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/elementwise/cuda_mean_of_terms.cuh>
#include <cairn/ops/l1/cuda.cuh>
#include <cairn/ops/smooth_l1/cpu.hpp>
#include <cairn/ops/smooth_l1/smooth_l1.hpp>

namespace cairn {

template <std::floating_point T>
void smooth_l1(cuda::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output, const T* targets,
               double beta) {
  if (beta <= 0) return l1(queue, loss, output_gradient, count, output, targets);
  const T at = static_cast<T>(beta);
  const T share = static_cast<T>(1.0 / static_cast<double>(count));
  detail::mean_of_terms(queue, "smooth_l1", loss, output_gradient, count, output, targets, detail::smooth_error<T>{at},
                        detail::smooth_error_derivative<T>{at, share});
}

} // namespace cairn
