// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/channel_statistics/columns.hpp>
#include <cairn/ops/channel_statistics/reference.hpp>
#include <cairn/ops/normalized_conv2d/normalized_conv2d.hpp>

CAIRN_KERNELS_BEGIN

// Follows the formulas, in double: for elements of any type, and for comparison with the tiled version.
namespace cairn::detail {

// Calls f(output pixel, input pixel, tap) for all taps that lie inside the image.
template <class F>
void for_each_meeting(const convolution& how, std::size_t samples, F&& f) {
  const window_axis &y = how.over.y, &x = how.over.x;
  for (std::size_t n = 0; n < samples; ++n)
    for (std::size_t p = 0; p < y.out; ++p)
      for (std::size_t q = 0; q < x.out; ++q)
        for (std::size_t i = 0; i < y.kernel; ++i)
          for (std::size_t j = 0; j < x.kernel; ++j) {
            const std::size_t row = y.input(p, i), column = x.input(q, j);
            if (row < y.in && column < x.in) f((n * y.out + p) * x.out + q, (n * y.in + row) * x.in + column, i * x.kernel + j);
          }
}

template <class T>
void normalized_conv2d_forward_reference(const convolution& how, std::size_t samples, matrix<T> y, accumulated<T>* statistics,
                                         const T* x, const channel_norm<T>& norm, const T* weight) {
  const std::size_t in = how.in_channels;
  for (std::size_t o = 0; o < how.out_channels; ++o) {
    std::size_t before = 0;
    double sum = 0;
    const auto finish = [&](std::size_t next) { // pixels come in their order, each with at least one tap
      y(before, o) = static_cast<T>(static_cast<accumulated<T>>(sum));
      before = next;
      sum = 0;
    };
    for_each_meeting(how, samples, [&](std::size_t to, std::size_t from, std::size_t tap) {
      if (to != before) finish(to);
      for (std::size_t c = 0; c < in; ++c) {
        const double v = normalized(norm, c, static_cast<double>(x[from * in + c]));
        sum += (v < 0 ? 0 : v) * static_cast<double>(weight[(o * how.over.taps() + tap) * in + c]);
      }
    });
    if (samples > 0) finish(0);
  }
  if (statistics != nullptr) channel_statistics_reference<T>(y, statistics);
}

template <class T>
void normalized_conv2d_backward_reference(const convolution& how, std::size_t samples,
                                          const normalized_conv2d_gradients<T>& gradients, matrix<const T> y_gradient, const T* x,
                                          const channel_norm<T>& norm, const T* weight) {
  using A = accumulated<T>;
  const std::size_t in = how.in_channels, taps = how.over.taps(), pixels = samples * how.over.inputs();
  for (std::size_t c = 0; c < in; ++c) {
    for (std::size_t row = 0; gradients.weight != nullptr && row < how.out_channels * taps; ++row) {
      double sum = 0;
      for_each_meeting(how, samples, [&](std::size_t to, std::size_t from, std::size_t tap) {
        if (tap != row % taps) return;
        const double v = normalized(norm, c, static_cast<double>(x[from * in + c]));
        sum += (v < 0 ? 0 : v) * static_cast<double>(y_gradient(to, row / taps));
      });
      gradients.weight[row * in + c] = static_cast<A>(sum);
    }
    const double factor =
        static_cast<double>(norm.weight[c]) / std::sqrt(static_cast<double>(norm.variance[norm.step * c]) + norm.eps);
    double sum = 0, products = 0;
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      double m = 0; // the taps of this pixel meet the outputs around it
      const std::size_t n = pixel / how.over.inputs(), row = pixel % how.over.inputs() / how.over.x.in,
                        column = pixel % how.over.x.in;
      for (std::size_t tap = 0; tap < taps; ++tap) {
        const std::size_t p = row + how.over.y.padding - tap / how.over.x.kernel,
                          q = column + how.over.x.padding - tap % how.over.x.kernel;
        if (p >= how.over.y.out || q >= how.over.x.out) continue;
        for (std::size_t o = 0; o < how.out_channels; ++o)
          m += static_cast<double>(y_gradient((n * how.over.y.out + p) * how.over.x.out + q, o)) *
               static_cast<double>(weight[(o * taps + tap) * in + c]);
      }
      if (normalized(norm, c, static_cast<double>(x[pixel * in + c])) <= 0) m = 0;
      sum += m;
      products += m * (static_cast<double>(x[pixel * in + c]) - static_cast<double>(norm.mean[norm.step * c]));
      if (gradients.x != nullptr) gradients.x[pixel * in + c] = static_cast<T>(static_cast<A>(factor * m));
    }
    norm_gradients(sum, products, norm, c, gradients.norm_weight, gradients.norm_bias, gradients.statistics);
  }
}

} // namespace cairn::detail

CAIRN_KERNELS_END
