// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/layer/elementwise_layer.hpp>
#include <cairn/ops/elementwise/elementary.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

struct sigmoid_value {
  static constexpr const char* name = "Sigmoid forward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T x) const {
    return logistic(x);
  }
};

struct sigmoid_slope {
  static constexpr const char* name = "Sigmoid backward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dy, T y) const {
    return dy * (y * (T{1} - y));
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

namespace cairn {

// y = 1 / (1 + e^-x), as torch.nn.Sigmoid; within 4e-7 relative for float. The derivative is y (1 - y): backward does not
// need the input, which the output may overwrite.
struct Sigmoid : detail::elementwise_layer<detail::sigmoid_value, detail::sigmoid_slope, reads::output> {
  // An exponential and a division are about 18 operations.
  static constexpr work flops(const arguments& in) { return {18 * in[0].size(), 3 * in[0].size(), 3 * in[0].size()}; }
};

} // namespace cairn
