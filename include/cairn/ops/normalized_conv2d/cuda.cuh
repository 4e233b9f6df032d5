// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/normalized_conv2d/cuda_kernels.cuh>
#include <cairn/ops/normalized_conv2d/normalized_conv2d.hpp>

namespace cairn::ops {

template <detail::floating_element T>
void normalized_conv2d_forward(cuda::queue& queue, const convolution& how, std::size_t samples, matrix<T> y,
                               std::type_identity_t<accumulated<T>>* statistics, const std::type_identity_t<T>* x,
                               const std::type_identity_t<channel_norm<T>>& norm, const std::type_identity_t<T>* weight,
                               std::type_identity_t<accumulated<T>>* scales, std::type_identity_t<accumulated<T>>*) {
  const matrix<const T> map{x, samples * how.over.inputs(), how.in_channels};
  constexpr const char* op = "normalized_conv2d_forward";
  detail::normalized_forward<T>(queue, op, how, y, map, norm, weight, scales, statistics);
}

template <detail::floating_element T>
void normalized_conv2d_backward(cuda::queue& queue, const convolution& how, std::size_t samples,
                                const normalized_conv2d_gradients<T>& gradients, std::type_identity_t<matrix<const T>> y_gradient,
                                const std::type_identity_t<T>* x, const std::type_identity_t<channel_norm<T>>& norm,
                                const std::type_identity_t<T>* weight, std::type_identity_t<accumulated<T>>* scales,
                                std::type_identity_t<accumulated<T>>*) {
  const std::size_t rows = samples * how.over.inputs();
  const detail::normalized_targets<T> to{{gradients.x, rows, how.in_channels},
                                         {},
                                         gradients.statistics,
                                         gradients.norm_weight,
                                         gradients.norm_bias,
                                         gradients.weight};
  const detail::gradient_of_map<T> dy{y_gradient, {}, nullptr, nullptr, nullptr};
  constexpr const char* op = "normalized_conv2d_backward";
  detail::normalized_backward<T>(queue, op, how, to, dy, {x, rows, how.in_channels}, norm, weight, scales);
}

} // namespace cairn::ops
