// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/layer/elementwise_layer.hpp>
#include <cairn/ops/elementwise/elementary.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

struct silu_value {
  static constexpr const char* name = "SiLU forward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T x) const {
    return x * logistic(x);
  }
};

// dy (s + x s (1 - s)) with s = 1 / (1 + e^-x).
struct silu_slope {
  static constexpr const char* name = "SiLU backward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dy, T x) const {
    const T s = logistic(x);
    return dy * (s * (T{1} + x * (T{1} - s)));
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

namespace cairn {

// y = x / (1 + e^-x), as torch.nn.SiLU (Elfwing, Uchibe, Doya: Sigmoid-weighted linear units. arXiv:1702.03118). For float it is
// within 3e-7 relative down to x = -87, where e^-x is the largest power that a float holds, and below a 0. Two inputs have the
// same output, so backward must read the input.
struct SiLU : detail::elementwise_layer<detail::silu_value, detail::silu_slope, reads::input> {
  // An exponential and a division are about 18 operations, in both directions.
  static constexpr work flops(const arguments& in) { return {19 * in[0].size(), 23 * in[0].size(), 23 * in[0].size()}; }
};

} // namespace cairn
