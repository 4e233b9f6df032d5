// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

CAIRN_KERNELS_BEGIN

// The formulas of standardize.hpp for one element, on every device. T is float for elements of 16 bits.
namespace cairn::detail {

struct center_and_divide {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x, T mean, T deviation) const {
    x = (x - mean) / deviation;
  }
};

struct divide_gradient {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T deviation) const {
    gradient = gradient / deviation;
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
