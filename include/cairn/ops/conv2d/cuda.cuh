// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/elementwise/cuda_pixels.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/matmul/cuda.cuh>
#include <cairn/ops/matmul/cuda_epilogue.cuh>

namespace cairn::detail {

// Convolutions as conv2d.hpp documents them, with a thread or a team for each element of the result. These are plain kernels, to
// be right and to compare others with. Products are summed in T over at most channels_of_chain channels, and these sums in
// double.
inline constexpr std::size_t channels_of_chain = 16;

// The sum of x(c) y(c) over the channels [0, count).
template <class X, class Y>
CAIRN_DEVICE double sum_of_channels(std::size_t count, const X& x, const Y& y) {
  double sum = 0;
  for (std::size_t c = 0; c < count;) {
    const std::size_t end = c + channels_of_chain < count ? c + channels_of_chain : count;
    auto some = x(c) * y(c);
    for (++c; c < end; ++c) some += x(c) * y(c);
    sum += static_cast<double>(some);
  }
  return sum;
}

template <class T>
struct convolve {
  convolution how;
  divisor channels, columns, pixels, group; // output channels, pixels of a row, of an image, channels of a group
  matrix<T> output;
  const T *input, *weight;
  epilogue<T> then;
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const window_axis &y = how.over.y, &x = how.over.x;
    const std::size_t pixel = channels.of(at), o = channels.rest(at, pixel), image = pixels.of(pixel);
    const std::size_t row = columns.of(pixels.rest(pixel, image)), column = columns.rest(pixels.rest(pixel, image), row);
    const std::size_t in = how.group_in(), first = group.of(o) * in;
    double sum = 0;
    for (std::size_t i = 0; i < y.kernel; ++i)
      for (std::size_t j = 0; j < x.kernel; ++j) {
        const std::size_t r = y.input(row, i), c = x.input(column, j);
        if (r >= y.in || c >= x.in) continue;
        const T* const from = input + ((image * y.in + r) * x.in + c) * how.in_channels + first;
        const T* const by = weight + ((o * y.kernel + i) * x.kernel + j) * in;
        sum += sum_of_channels(in, [from](std::size_t k) { return from[k]; }, [by](std::size_t k) { return by[k]; });
      }
    output(pixel, o) = finished(then, pixel, o, static_cast<T>(sum));
  }
};
template <class T>
struct convolve_back {
  convolution how;
  divisor channels, columns, pixels, group; // input channels, pixels of a row, of an image, channels of a group
  readers_of_axis y, x;
  matrix<T> input_gradient;
  matrix<const T> output_gradient;
  const T* weight;
  epilogue<T> then;
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t pixel = channels.of(at), c = channels.rest(at, pixel), image = pixels.of(pixel);
    const std::size_t row = columns.of(pixels.rest(pixel, image)), column = columns.rest(pixels.rest(pixel, image), row);
    const std::size_t in = how.group_in(), out = how.group_out(), from = group.of(c), taps = how.over.taps();
    double sum = 0;
    for (std::size_t i = 0; i < y.axis.kernel; ++i)
      for (std::size_t j = 0; j < x.axis.kernel; ++j) {
        const std::size_t p = y.at(row, i), q = x.at(column, j);
        if (p >= y.axis.out || q >= x.axis.out) continue;
        const T* const dy = &output_gradient((image * y.axis.out + p) * x.axis.out + q, from * out);
        const T* const by = weight + (from * out * taps + i * x.axis.kernel + j) * in + group.rest(c, from);
        sum += sum_of_channels(out, [dy](std::size_t o) { return dy[o]; }, [=](std::size_t o) { return by[o * taps * in]; });
      }
    input_gradient(pixel, c) = finished(then, pixel, c, static_cast<T>(sum));
  }
};
// One weight per team, summed over the pixels of all outputs as sums_over_quads() adds.
template <class T>
struct convolve_weight {
  convolution how;
  divisor in, taps, kernel, group, pixels, columns; // of a group, of a window and its rows; of a group, an image and its rows
  std::size_t count;                                // of pixels
  T* weight_gradient;
  matrix<const T> output_gradient;
  const T* input;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t at) const {
    const window_axis &y = how.over.y, &x = how.over.x;
    const std::size_t place = in.of(at), o = taps.of(place), tap = taps.rest(place, o), i = kernel.of(tap);
    const std::size_t j = kernel.rest(tap, i), channel = group.of(o) * in.by() + in.rest(at, place);
    const auto add = [&](std::size_t pixel, T(&sum)[1]) {
      const std::size_t image = pixels.of(pixel), own = pixels.rest(pixel, image), p = columns.of(own);
      const std::size_t row = y.input(p, i), column = x.input(columns.rest(own, p), j);
      if (row >= y.in || column >= x.in) return;
      sum[0] += output_gradient(pixel, o) * input[((image * y.in + row) * x.in + column) * how.in_channels + channel];
    };
    const double sum = team.template sums_over_quads<T, 1>(count, add).at[0];
    team.once([&] { weight_gradient[at] = static_cast<T>(sum); });
  }
};

} // namespace cairn::detail

namespace cairn::ops {

// A convolution that is a product (convolution::is_product()) is one of matmul: its bits then depend on the extents and alignment
// of the product, so on the number of images too, as those of a Linear do. All else is done by the kernels above.
template <std::floating_point T>
void conv2d_forward(cuda::queue& queue, const convolution& how, std::size_t, matrix<T> output,
                    const std::type_identity_t<T>* input, const std::type_identity_t<T>* weight,
                    const std::type_identity_t<epilogue<T>>& then) {
  if (how.is_product())
    return matmul(queue, output, {input, output.rows, how.in_channels}, {weight, how.out_channels, how.in_channels},
                  transpose::second, then);
  detail::launch_each(
      queue, "conv2d_forward", output.rows * output.columns,
      detail::convolve<T>{how, output.columns, how.over.x.out, how.over.outputs(), how.group_out(), output, input, weight, then});
}

template <std::floating_point T>
void conv2d_input_gradient(cuda::queue& queue, const convolution& how, std::size_t samples, T* input_gradient,
                           std::type_identity_t<matrix<const T>> output_gradient, const std::type_identity_t<T>* weight,
                           const std::type_identity_t<epilogue<T>>& then) {
  const matrix<T> to{input_gradient, samples * how.over.inputs(), how.in_channels};
  if (how.is_product())
    return matmul(queue, to, output_gradient, {weight, how.out_channels, how.in_channels}, transpose::none, then);
  detail::launch_each(queue, "conv2d_input_gradient", to.rows * to.columns,
                      detail::convolve_back<T>{how, how.in_channels, how.over.x.in, how.over.inputs(), how.group_in(), how.over.y,
                                               how.over.x, to, output_gradient, weight, then});
}

template <std::floating_point T>
void conv2d_weight_gradient(cuda::queue& queue, const convolution& how, std::size_t samples, T* weight_gradient, T* bias_gradient,
                            matrix<const T> output_gradient, const std::type_identity_t<T>* input) {
  if (how.is_product()) {
    epilogue<T> then{};
    then.row_sums = bias_gradient;
    return matmul(queue, matrix<T>{weight_gradient, how.out_channels, how.in_channels}, output_gradient,
                  {input, output_gradient.rows, how.in_channels}, transpose::first, then);
  }
  constexpr const char* op = "conv2d_weight_gradient";
  const std::size_t weights = how.out_channels * how.over.taps() * how.group_in();
  detail::launch_teams_for(samples * how.over.outputs(), queue, op, weights,
                           detail::convolve_weight<T>{how, how.group_in(), how.over.taps(), how.over.x.kernel, how.group_out(),
                                                      how.over.outputs(), how.over.x.out, samples * how.over.outputs(),
                                                      weight_gradient, output_gradient, input});
  if (bias_gradient != nullptr)
    detail::sum_columns_then(queue, op, output_gradient.rows, output_gradient.columns,
                             detail::sum_transposed_rows<T>{output_gradient, bias_gradient});
}

} // namespace cairn::ops
