// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include <cairn/core/config.hpp>

CAIRN_KERNELS_BEGIN

// The formulas of rms_norm.hpp for one element, on every device. T is the type of r: float for 16-bit elements.
namespace cairn::detail {

// r of a row, from the sum of the squares of its elements.
template <class T>
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline T inverse_from(double squares, double count, double eps) {
  return static_cast<T>(1 / std::sqrt(squares / count + eps));
}

template <class T>
struct rms_normalize {
  T inverse;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x, T weight) const { x = x * inverse * weight; }
};

// One row's share of the gradient of the weight, added up in Sum.
template <class T>
struct rms_weight_derivative {
  T inverse;
  template <class Sum>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(Sum& weight, T gradient, T x) const {
    weight += static_cast<Sum>(gradient * (x * inverse));
  }
};

template <class T>
struct rms_derivative {
  T inverse, mean_product; // r and mean(g h)
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T x, T weight) const {
    gradient = inverse * (gradient * weight - x * inverse * mean_product);
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
