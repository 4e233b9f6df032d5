// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/normalized_product/cpu.hpp>
#include <cairn/ops/normalized_product/reference.hpp>

CAIRN_KERNELS_BEGIN

// 16-bit elements: computed in double by the reference.
namespace cairn::ops {

template <detail::narrow_element T>
void normalized_product_forward(cpu::queue&, matrix<T> h, std::type_identity_t<accumulated<T>>* statistics,
                                std::type_identity_t<matrix<const T>> x, const std::type_identity_t<channel_norm<T>>& norm,
                                const std::type_identity_t<T>* weight,
                                const std::type_identity_t<normalized_product_memory<T>>&) {
  detail::normalized_product_forward_reference(h, statistics, x, norm, weight);
}
template <detail::narrow_element T>
void normalized_product_backward(cpu::queue&, const normalized_product_gradients<T>& gradients,
                                 std::type_identity_t<matrix<const T>> h_gradient, std::type_identity_t<matrix<const T>> h,
                                 const std::type_identity_t<accumulated<T>>* h_statistics,
                                 const std::type_identity_t<accumulated<T>>* h_statistics_gradient,
                                 std::type_identity_t<matrix<const T>> x, const std::type_identity_t<channel_norm<T>>& norm,
                                 const std::type_identity_t<T>* weight, std::type_identity_t<T>*) {
  detail::normalized_product_backward_reference(gradients, h_gradient, h, h_statistics, h_statistics_gradient, x, norm, weight);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
