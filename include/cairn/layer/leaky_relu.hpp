// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/core/fraction.hpp>
#include <cairn/layer/elementwise_layer.hpp>
#include <cairn/ops/elementwise/blend.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// NaN stays NaN, as in torch.
template <auto Slope>
struct leaky_relu_value {
  static constexpr const char* name = "LeakyReLU forward";
  static constexpr double slope = static_cast<double>(Slope);
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T x) const {
    return blend(x > T{0}, x, static_cast<T>(slope) * x);
  }
};

// v is x or y, which have the same sign if the slope is not negative. At 0 the derivative is the slope, as in torch.
template <auto Slope>
struct leaky_relu_slope {
  static constexpr const char* name = "LeakyReLU backward";
  static constexpr double slope = static_cast<double>(Slope);
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dy, T v) const {
    return blend(v > T{0}, dy, static_cast<T>(slope) * dy);
  }
};

template <auto Slope>
using leaky_relu = elementwise_layer<leaky_relu_value<Slope>, leaky_relu_slope<Slope>,
                                     static_cast<double>(Slope) < 0 ? reads::input : reads::output>;

} // namespace cairn::detail

CAIRN_KERNELS_END

namespace cairn {

// y = x if x > 0, else Slope x, as torch.nn.LeakyReLU(negative_slope) with its default of 0.01: LeakyReLU<percent<20>>. Backward
// needs only whether y > 0, not the input, which the output may overwrite; with a negative slope it reads the input.
template <auto Slope = percent<1>>
struct LeakyReLU : detail::leaky_relu<Slope> {
  // A product and a choice.
  static constexpr work flops(const arguments& in) { return {2 * in[0].size(), 2 * in[0].size(), 2 * in[0].size()}; }
};

} // namespace cairn
