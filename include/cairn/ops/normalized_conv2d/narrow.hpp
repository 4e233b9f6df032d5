// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/normalized_conv2d/cpu.hpp>
#include <cairn/ops/normalized_conv2d/reference.hpp>

CAIRN_KERNELS_BEGIN

// 16-bit elements: computed in double by the reference.
namespace cairn::ops {

template <detail::narrow_element T>
void normalized_conv2d_forward(cpu::queue&, const convolution& how, std::size_t samples, matrix<T> y,
                               std::type_identity_t<accumulated<T>>* statistics, const std::type_identity_t<T>* x,
                               const std::type_identity_t<channel_norm<T>>& norm, const std::type_identity_t<T>* weight,
                               std::type_identity_t<T>*, std::type_identity_t<accumulated<T>>*) {
  detail::normalized_conv2d_forward_reference(how, samples, y, statistics, x, norm, weight);
}
template <detail::narrow_element T>
void normalized_conv2d_backward(cpu::queue&, const convolution& how, std::size_t samples,
                                const normalized_conv2d_gradients<T>& gradients, std::type_identity_t<matrix<const T>> y_gradient,
                                const std::type_identity_t<T>* x, const std::type_identity_t<channel_norm<T>>& norm,
                                const std::type_identity_t<T>* weight, std::type_identity_t<T>*,
                                std::type_identity_t<accumulated<T>>*) {
  detail::normalized_conv2d_backward_reference(how, samples, gradients, y_gradient, x, norm, weight);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
