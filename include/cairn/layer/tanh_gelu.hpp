// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/layer/elementwise_layer.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/elementary.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// 2 u = sqrt(8 / pi) (x + 0.044715 x^3) = x (linear + cubic x^2). In 1 / (1 + e^-2u) nothing cancels, unlike in (1 + tanh u) / 2,
// which is the same number.
template <class T>
struct tanh_gelu_at {
  static constexpr T linear = static_cast<T>(1.59576912160573071176), cubic = static_cast<T>(0.0713548162726002488);
  T square; // x^2, or 10^4 where it is more: there the logistic function is 0 or 1, and x^2 may be infinite
  T s;      // 1 / (1 + e^-2u)

  [[gnu::always_inline]] CAIRN_HOST_DEVICE explicit inline tanh_gelu_at(T x)
      : square(blend(x * x > T{10000}, T{10000}, x * x)), s(logistic(x * (linear + cubic * square))) {}
};

struct tanh_gelu_value {
  static constexpr const char* name = "TanhGELU forward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T x) const {
    return x * tanh_gelu_at<T>(x).s;
  }
};

// dy (s + x s (1 - s) 2u') with 2u' = sqrt(8 / pi) (1 + 3 * 0.044715 x^2).
struct tanh_gelu_slope {
  static constexpr const char* name = "TanhGELU backward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dy, T x) const {
    using at_x = tanh_gelu_at<T>;
    const at_x at(x);
    const T inner = at_x::linear + T{3} * at_x::cubic * at.square;
    return dy * (at.s * (T{1} + x * (T{1} - at.s) * inner));
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

namespace cairn {

// y = x (1 + tanh u) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), as torch.nn.GELU with approximate="tanh" and as in GPT-2
// (Hendrycks, Gimpel: Gaussian error linear units. arXiv:1606.08415). It is up to 5e-4 apart from GELU. For float it is within
// 1e-6 relative down to x = -3 and within 3e-6 down to -5, where torch's formula cancels. Two inputs have the same output, so
// backward must read the input.
struct TanhGELU : detail::elementwise_layer<detail::tanh_gelu_value, detail::tanh_gelu_slope, reads::input> {
  // An exponential and a division are about 18 operations, in both directions.
  static constexpr work flops(const arguments& in) { return {25 * in[0].size(), 32 * in[0].size(), 32 * in[0].size()}; }
};

} // namespace cairn
