// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/cuda_depthwise.cuh>
#include <cairn/ops/conv2d/cuda_gather.cuh>
#include <cairn/ops/conv2d/cuda_taps.cuh>
#include <cairn/ops/conv2d/cuda_weight.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/matmul/cuda.cuh>
#include <cairn/ops/matmul/cuda_epilogue.cuh>

namespace cairn::ops {

// There are three ways to compute a convolution, and its shape decides. One of single pixels (convolution::is_product()) is a
// product of matmul: its bits then depend on the extents and alignment of the product, so on the number of images too, as those
// of a Linear do. If its groups have one input channel, cuda_depthwise.cuh computes it, in all other cases the tiles of
// cuda_gather.cuh and cuda_weight.cuh.
template <detail::floating_element T>
void conv2d_forward(cuda::queue& queue, const convolution& how, std::size_t samples, matrix<T> output,
                    const std::type_identity_t<T>* input, const std::type_identity_t<T>* weight,
                    const std::type_identity_t<epilogue<T>>& then) {
  if (how.is_product())
    return matmul(queue, output, {input, output.rows, how.in_channels}, {weight, how.out_channels, how.in_channels},
                  transpose::second, then);
  constexpr const char* op = "conv2d_forward";
  detail::check_convolution(op, how, samples, output.stride);
  const matrix<const T> from{input, samples * how.over.inputs(), how.in_channels};
  if (how.group_in() == 1) return detail::launch_depthwise<false, T>(queue, op, how, samples, output, from, weight, then);
  detail::launch_gathered<false, T>(queue, op, how, samples, output, from, weight, then);
}

template <detail::floating_element T>
void conv2d_input_gradient(cuda::queue& queue, const convolution& how, std::size_t samples, T* input_gradient,
                           std::type_identity_t<matrix<const T>> output_gradient, const std::type_identity_t<T>* weight,
                           const std::type_identity_t<epilogue<T>>& then) {
  const matrix<T> to{input_gradient, samples * how.over.inputs(), how.in_channels};
  if (how.is_product())
    return matmul(queue, to, output_gradient, {weight, how.out_channels, how.in_channels}, transpose::none, then);
  constexpr const char* op = "conv2d_input_gradient";
  detail::check_convolution(op, how, samples, output_gradient.stride);
  if (how.group_in() == 1) return detail::launch_depthwise<true, T>(queue, op, how, samples, to, output_gradient, weight, then);
  detail::launch_gathered<true, T>(queue, op, how, samples, to, output_gradient, weight, then);
}

template <detail::floating_element T>
void conv2d_weight_gradient(cuda::queue& queue, const convolution& how, std::size_t samples,
                            std::type_identity_t<accumulated<T>>* weight_gradient,
                            std::type_identity_t<accumulated<T>>* bias_gradient, matrix<const T> output_gradient,
                            const std::type_identity_t<T>* input) {
  if (how.is_product()) {
    epilogue<T> then{};
    then.row_sums = bias_gradient;
    return matmul(queue, matrix<accumulated<T>>{weight_gradient, how.out_channels, how.in_channels}, output_gradient,
                  matrix<const T>{input, output_gradient.rows, how.in_channels}, transpose::first, then);
  }
  constexpr const char* op = "conv2d_weight_gradient";
  detail::check_convolution(op, how, samples, output_gradient.stride);
  if (how.group_in() == 1)
    detail::sum_columns_then(queue, op, output_gradient.rows, how.out_channels * how.over.taps(),
                             detail::sums_of_depthwise<T>(how, weight_gradient, output_gradient, input));
  else if (how.group_out() <= 16) detail::launch_weight_product<16>(queue, op, how, weight_gradient, output_gradient, input);
  else if (how.group_out() <= 32) detail::launch_weight_product<32>(queue, op, how, weight_gradient, output_gradient, input);
  else detail::launch_weight_product<64>(queue, op, how, weight_gradient, output_gradient, input);
  if (bias_gradient != nullptr)
    detail::sum_columns_then(queue, op, output_gradient.rows, output_gradient.columns,
                             detail::sum_transposed_rows<T>{output_gradient, bias_gradient});
}

} // namespace cairn::ops
