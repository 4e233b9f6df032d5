// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/cpu.hpp>
#include <cairn/ops/matmul/sixteen_bits.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::ops {

// 16-bit elements: one element after another, summed in double, and rounded once when it is written.

template <detail::narrow_element T>
void conv2d_forward(cpu::queue& queue, const convolution& how, std::size_t samples, matrix<T> output,
                    const std::type_identity_t<T>* input, const std::type_identity_t<T>* weight,
                    const std::type_identity_t<epilogue<T>>& then) {
  detail::conv2d_forward_plain(queue, how, samples, output, input, weight, then);
}

template <detail::narrow_element T>
void conv2d_input_gradient(cpu::queue& queue, const convolution& how, std::size_t samples, T* input_gradient,
                           std::type_identity_t<matrix<const T>> output_gradient, const std::type_identity_t<T>* weight,
                           const std::type_identity_t<epilogue<T>>& then) {
  const matrix<T> result{input_gradient, samples * how.over.inputs(), how.in_channels};
  detail::conv2d_input_gradient_plain(queue, how, samples, result, output_gradient, weight, then);
}

template <detail::narrow_element T>
void conv2d_weight_gradient(cpu::queue& queue, const convolution& how, std::size_t samples,
                            std::type_identity_t<accumulated<T>>* weight_gradient,
                            std::type_identity_t<accumulated<T>>* bias_gradient, matrix<const T> output_gradient,
                            const std::type_identity_t<T>* input) {
  if (bias_gradient != nullptr) detail::sum_pixels(queue, bias_gradient, output_gradient);
  detail::conv2d_weight_gradient_plain(queue, how, samples, weight_gradient, output_gradient, input);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
