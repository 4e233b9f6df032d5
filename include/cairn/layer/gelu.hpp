// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/layer/elementwise_layer.hpp>
#include <cairn/ops/elementwise/elementary.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

struct gelu_value {
  static constexpr const char* name = "GELU forward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T x) const {
    return x * normal_at(x).below;
  }
};

// dy (P(x) + x p(x)) with p(x) = e^(-x^2/2) / sqrt(2 pi).
struct gelu_slope {
  static constexpr const char* name = "GELU backward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dy, T x) const {
    const normal<T> at = normal_at(x);
    return dy * (at.below + x * at.density);
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

namespace cairn {

// y = x P(x), where P(x) = (1 + erf(x / sqrt 2)) / 2 is how much of the normal distribution lies below x, as torch.nn.GELU with
// approximate="none" (Hendrycks, Gimpel: Gaussian error linear units. arXiv:1606.08415). For float it is within 1e-6 relative
// down to x = -5, where the formula with erf cancels. Two inputs have the same output, so backward must read the input.
struct GELU : detail::elementwise_layer<detail::gelu_value, detail::gelu_slope, reads::input> {
  // An exponential, a division and two polynomials are about 45 operations.
  static constexpr work flops(const arguments& in) { return {45 * in[0].size(), 48 * in[0].size(), 48 * in[0].size()}; }
};

} // namespace cairn
