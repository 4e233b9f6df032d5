// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/elementwise/cuda_channels.cuh>
#include <cairn/ops/standardize/formula.hpp>
#include <cairn/ops/standardize/standardize.hpp>

namespace cairn::ops {

template <detail::floating_element T>
void standardize(cuda::queue& queue, std::size_t rows, std::size_t features, T* output, const T* input,
                 const accumulated<T>* mean, const accumulated<T>* deviation) {
  detail::for_each_of_channels(queue, "standardize", rows, features, detail::center_and_divide{}, output, std::array{input},
                               std::array{mean, deviation});
}

template <detail::floating_element T>
void standardize_backward(cuda::queue& queue, std::size_t rows, std::size_t features, T* input_gradient, const T* output_gradient,
                          const accumulated<T>* deviation) {
  detail::for_each_of_channels(queue, "standardize_backward", rows, features, detail::divide_gradient{}, input_gradient,
                               std::array{output_gradient}, std::array{deviation});
}

} // namespace cairn::ops
