// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/elementary.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// What an element becomes, on a cpu and on a GPU.

struct tanh_element {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x) const {
    x = hyperbolic_tangent(x);
  }
};

struct tanh_derivative {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T y) const {
    gradient *= T{1} - y * y;
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
