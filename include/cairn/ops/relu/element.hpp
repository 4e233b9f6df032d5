// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/blend.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// What an element becomes, on a cpu and on a GPU.

struct relu_element {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x) const {
    x = blend(x < T{0}, T{0}, x);
  }
};

struct relu_derivative {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T y) const {
    gradient = blend(y <= T{0}, T{0}, gradient);
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
