// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

CAIRN_KERNELS_BEGIN

// The formulas of group_norm.hpp for one element or one group, on every device. Others are those of a layer norm and of a batch
// norm, from their formula.hpp.
namespace cairn::detail {

// slope is r mean(g h), shift is r mean(g): dx = dy r w - shift - (x - m) r slope.
struct group_norm_derivative {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T x, T mean, T factor, T shift, T slope) const {
    gradient = gradient * factor - shift - (x - mean) * slope;
  }
};

// Shift and slope of a group of `count` elements, from its sums of g and of g (x - m).
template <class T>
struct group_factors {
  T shift, slope;

  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline group_factors(double inverse, double sum, double products, double count)
      : shift(static_cast<T>(inverse * sum / count)), slope(static_cast<T>(inverse * inverse * inverse * products / count)) {}
};

} // namespace cairn::detail

CAIRN_KERNELS_END
