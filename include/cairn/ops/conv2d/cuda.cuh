// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/reference.hpp>
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/matmul/cuda_epilogue.cuh>

namespace cairn {

namespace detail {

// Convolutions as their documentation says them, an element of the result for each thread or team, added up in double. Plain
// kernels, to be right and to have something to compare with.

template <class T>
struct convolve {
  convolution how;
  matrix<T> output;
  const T *input, *weight;
  epilogue<T> then;
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t pixel = at / output.columns, o = at % output.columns;
    output(pixel, o) = finished(then, pixel, o, static_cast<T>(conv2d_output(how, input, weight, pixel, o)));
  }
};
template <class T>
struct convolve_back {
  convolution how;
  matrix<T> input_gradient;
  matrix<const T> output_gradient;
  const T* weight;
  epilogue<T> then;
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t pixel = at / how.in_channels, c = at % how.in_channels;
    const double sum = conv2d_input_derivative(how, output_gradient, weight, pixel, c);
    input_gradient(pixel, c) = finished(then, pixel, c, static_cast<T>(sum));
  }
};
// One weight each, over the pixels of all outputs.
template <class T>
struct convolve_weight {
  convolution how;
  std::size_t samples;
  T* weight_gradient;
  matrix<const T> output_gradient;
  const T* input;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t at) const {
    const window_axis &y = how.over.y, &x = how.over.x;
    const std::size_t in = how.group_in(), taps = how.over.taps();
    const std::size_t c = at % in, tap = at / in % taps, o = at / in / taps;
    const std::size_t channel = o / how.group_out() * in + c;
    const double sum = team.sum(samples * how.over.outputs(), [&](std::size_t pixel) {
      const std::size_t row = y.input(pixel / x.out % y.out, tap / x.kernel), column = x.input(pixel % x.out, tap % x.kernel);
      if (row >= y.in || column >= x.in) return 0.0;
      const std::size_t from = (pixel / how.over.outputs() * y.in + row) * x.in + column;
      return static_cast<double>(output_gradient(pixel, o)) * static_cast<double>(input[from * how.in_channels + channel]);
    });
    team.once([&] { weight_gradient[at] = static_cast<T>(sum); });
  }
};

} // namespace detail

template <std::floating_point T>
void conv2d_forward(cuda::queue& queue, const convolution& how, std::size_t, matrix<T> output,
                    const std::type_identity_t<T>* input, const std::type_identity_t<T>* weight,
                    const std::type_identity_t<epilogue<T>>& then) {
  detail::launch_each(queue, "conv2d_forward", output.rows * output.columns,
                      detail::convolve<T>{how, output, input, weight, then});
}

template <std::floating_point T>
void conv2d_input_gradient(cuda::queue& queue, const convolution& how, std::size_t samples, T* input_gradient,
                           std::type_identity_t<matrix<const T>> output_gradient, const std::type_identity_t<T>* weight,
                           const std::type_identity_t<epilogue<T>>& then) {
  const matrix<T> to{input_gradient, samples * how.over.inputs(), how.in_channels};
  detail::launch_each(queue, "conv2d_input_gradient", to.rows * to.columns,
                      detail::convolve_back<T>{how, to, output_gradient, weight, then});
}

template <std::floating_point T>
void conv2d_weight_gradient(cuda::queue& queue, const convolution& how, std::size_t samples, T* weight_gradient, T* bias_gradient,
                            matrix<const T> output_gradient, const std::type_identity_t<T>* input) {
  constexpr const char* op = "conv2d_weight_gradient";
  const std::size_t weights = how.out_channels * how.over.taps() * how.group_in();
  detail::launch_teams_for(samples * how.over.outputs(), queue, op, weights,
                           detail::convolve_weight<T>{how, samples, weight_gradient, output_gradient, input});
  if (bias_gradient != nullptr)
    detail::sum_columns_then(queue, op, output_gradient.rows, output_gradient.columns,
                             detail::sum_transposed_rows<T>{output_gradient, bias_gradient});
}

} // namespace cairn
