// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/conv2d/conv2d.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// A convolution as conv2d.hpp documents it, one element after another, each a sum in double: the oracle for every kernel, and the
// code for elements for which there is no kernel. Pixels are counted through all images.

template <class T>
CAIRN_HOST_DEVICE double conv2d_output(const convolution& how, const T* input, const T* weight, std::size_t pixel,
                                       std::size_t o) {
  const window_axis &y = how.over.y, &x = how.over.x;
  const std::size_t image = pixel / how.over.outputs(), row = pixel / x.out % y.out, column = pixel % x.out;
  const std::size_t in = how.group_in(), group = o / how.group_out();
  double sum = 0;
  for (std::size_t i = 0; i < y.kernel; ++i)
    for (std::size_t j = 0; j < x.kernel; ++j) {
      if (y.input(row, i) >= y.in || x.input(column, j) >= x.in) continue;
      const T* const from = input + ((image * y.in + y.input(row, i)) * x.in + x.input(column, j)) * how.in_channels + group * in;
      const T* const by = weight + ((o * y.kernel + i) * x.kernel + j) * in;
      for (std::size_t c = 0; c < in; ++c) sum += static_cast<double>(from[c]) * static_cast<double>(by[c]);
    }
  return sum;
}

// The output along one axis whose tap reads this input. If there is none, the result is at least a.out.
CAIRN_HOST_DEVICE constexpr std::size_t output_reading(const window_axis& a, std::size_t input, std::size_t tap) {
  const std::size_t place = input + a.padding - tap * a.dilation; // wraps around where no output begins so early
  return input + a.padding < tap * a.dilation || place % a.stride != 0 ? a.out : place / a.stride;
}

template <class T>
CAIRN_HOST_DEVICE double conv2d_input_derivative(const convolution& how, matrix<const T> output_gradient, const T* weight,
                                                 std::size_t pixel, std::size_t c) {
  const window_axis &y = how.over.y, &x = how.over.x;
  const std::size_t image = pixel / how.over.inputs(), row = pixel / x.in % y.in, column = pixel % x.in;
  const std::size_t in = how.group_in(), out = how.group_out(), group = c / in;
  double sum = 0;
  for (std::size_t i = 0; i < y.kernel; ++i)
    for (std::size_t j = 0; j < x.kernel; ++j) {
      const std::size_t p = output_reading(y, row, i), q = output_reading(x, column, j);
      if (p >= y.out || q >= x.out) continue;
      for (std::size_t o = group * out; o < (group + 1) * out; ++o)
        sum += static_cast<double>(output_gradient((image * y.out + p) * x.out + q, o)) *
               static_cast<double>(weight[((o * y.kernel + i) * x.kernel + j) * in + c % in]);
    }
  return sum;
}

// Taps are numbered row by row; c is a channel of the group.
template <class T>
CAIRN_HOST_DEVICE double conv2d_weight_derivative(const convolution& how, std::size_t samples, matrix<const T> output_gradient,
                                                  const T* input, std::size_t o, std::size_t tap, std::size_t c) {
  const window_axis &y = how.over.y, &x = how.over.x;
  const std::size_t channel = o / how.group_out() * how.group_in() + c;
  double sum = 0;
  for (std::size_t image = 0; image < samples; ++image)
    for (std::size_t p = 0; p < y.out; ++p)
      for (std::size_t q = 0; q < x.out; ++q) {
        const std::size_t row = y.input(p, tap / x.kernel), column = x.input(q, tap % x.kernel);
        if (row >= y.in || column >= x.in) continue;
        sum += static_cast<double>(output_gradient((image * y.out + p) * x.out + q, o)) *
               static_cast<double>(input[((image * y.in + row) * x.in + column) * how.in_channels + channel]);
      }
  return sum;
}

} // namespace cairn::detail

CAIRN_KERNELS_END
