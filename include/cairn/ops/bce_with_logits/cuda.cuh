// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/bce_with_logits/bce_with_logits.hpp>
#include <cairn/ops/bce_with_logits/cpu.hpp>
#include <cairn/ops/elementwise/cuda_mean_of_terms.cuh>

namespace cairn {

template <std::floating_point T>
void bce_with_logits(cuda::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output, const T* targets) {
  const T share = static_cast<T>(1.0 / static_cast<double>(count));
  detail::mean_of_terms(queue, "bce_with_logits", loss, output_gradient, count, output, targets, detail::logit_error{},
                        detail::logit_error_derivative<T>{share});
}

} // namespace cairn
