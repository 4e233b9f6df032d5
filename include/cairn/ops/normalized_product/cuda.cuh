// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/normalized_conv2d/cuda_kernels.cuh>
#include <cairn/ops/normalized_product/normalized_product.hpp>

namespace cairn::detail {

// The product as a convolution of one image that has one row of pixels.
inline convolution product_of_pixels(std::size_t rows, std::size_t in, std::size_t out) {
  return {{window_axis{1, 1, 1, 1, 0, 1}, window_axis{rows, rows, 1, 1, 0, 1}}, in, out, 1};
}

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void normalized_product_forward(cuda::queue& queue, matrix<T> h, std::type_identity_t<accumulated<T>>* statistics,
                                std::type_identity_t<matrix<const T>> x, const std::type_identity_t<channel_norm<T>>& norm,
                                const std::type_identity_t<T>* weight,
                                const std::type_identity_t<normalized_product_memory<T>>& memory) {
  constexpr const char* op = "normalized_product_forward";
  detail::normalized_forward<T>(queue, op, detail::product_of_pixels(x.rows, x.columns, h.columns), h, x, norm, weight,
                                memory.scales, statistics);
}

template <detail::floating_element T>
void normalized_product_backward(cuda::queue& queue, const normalized_product_gradients<T>& gradients,
                                 std::type_identity_t<matrix<const T>> h_gradient, std::type_identity_t<matrix<const T>> h,
                                 const std::type_identity_t<accumulated<T>>* h_statistics,
                                 const std::type_identity_t<accumulated<T>>* h_statistics_gradient,
                                 std::type_identity_t<matrix<const T>> x, const std::type_identity_t<channel_norm<T>>& norm,
                                 const std::type_identity_t<T>* weight, std::type_identity_t<accumulated<T>>* scales) {
  constexpr const char* op = "normalized_product_backward";
  const std::size_t in = x.columns, out = h.columns;
  accumulated<T>* const factor = scales;
  accumulated<T>*const mean = factor + 3 * in, *const first = mean + out, *const second = first + out;
  detail::gradient_of_map<T> dh{h_gradient, h, nullptr, nullptr, nullptr};
  if (h_statistics_gradient != nullptr) {
    detail::launch_each(queue, op, out,
                        detail::statistics_slopes<accumulated<T>>{static_cast<double>(x.rows), h_statistics,
                                                                  h_statistics_gradient, mean, first, second});
    dh.mean = mean, dh.first = first, dh.second = second;
  }
  const detail::normalized_targets<T> to{gradients.x,           gradients.addend,    gradients.statistics,
                                         gradients.norm_weight, gradients.norm_bias, gradients.weight};
  detail::normalized_backward<T>(queue, op, detail::product_of_pixels(x.rows, in, out), to, dh, x, norm, weight, factor);
}

} // namespace cairn::ops
