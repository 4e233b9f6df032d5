// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/layer/elementwise_layer.hpp>
#include <cairn/ops/elementwise/blend.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// NaN stays NaN, as in torch. The bits are those of a product with activation::relu.
struct relu_value {
  static constexpr const char* name = "ReLU forward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T x) const {
    return blend(x < T{0}, T{0}, x);
  }
};

// The same as a product with a mask: the derivative at 0 is 0, and where y is NaN dy passes, as in torch.
struct relu_slope {
  static constexpr const char* name = "ReLU backward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dy, T y) const {
    return blend(y <= T{0}, T{0}, dy);
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

namespace cairn {

// y = max(x, 0), as torch.nn.ReLU. Its backward needs only whether y > 0, not the input, which the output may overwrite.
struct ReLU : detail::elementwise_layer<detail::relu_value, detail::relu_slope, reads::output> {
  static constexpr ops::activation as_activation = ops::activation::relu;
};

} // namespace cairn
