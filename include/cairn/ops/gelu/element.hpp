// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/elementary.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// What an element becomes, on a cpu and on a GPU.

struct gelu_element {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x) const {
    x *= normal_at(x).below;
  }
};

struct gelu_derivative {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T x) const {
    const normal<T> at = normal_at(x);
    gradient *= at.below + x * at.density;
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
