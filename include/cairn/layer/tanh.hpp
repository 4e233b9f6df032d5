// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/layer/elementwise_layer.hpp>
#include <cairn/ops/elementwise/elementary.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

struct tanh_value {
  static constexpr const char* name = "Tanh forward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T x) const {
    return hyperbolic_tangent(x);
  }
};

struct tanh_slope {
  static constexpr const char* name = "Tanh backward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dy, T y) const {
    return dy * (T{1} - y * y);
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

namespace cairn {

// y = tanh x, as torch.nn.Tanh; within 4e-7 relative for float. The derivative is 1 - y^2: backward does not need the input,
// which the output may overwrite.
struct Tanh : detail::elementwise_layer<detail::tanh_value, detail::tanh_slope, reads::output> {
  // An exponential, a division and a polynomial are about 25 operations.
  static constexpr work flops(const arguments& in) { return {25 * in[0].size(), 3 * in[0].size(), 3 * in[0].size()}; }
};

} // namespace cairn
