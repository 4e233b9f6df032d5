// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include <cairn/core/config.hpp>

CAIRN_KERNELS_BEGIN

// The formulas of layer_norm.hpp for one element, on every device. T is the type of the statistics: float for 16-bit elements.
namespace cairn::detail {

// m and r of a row.
template <class T>
struct statistics_of_row {
  T mean, inverse;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T normal(T x) const { return (x - mean) * inverse; }
};
// The same from m and the sum of squared distances from it.
template <class T>
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline statistics_of_row<T> statistics_from(double mean, double squares, double count,
                                                                                     double eps) {
  return {static_cast<T>(mean), static_cast<T>(1 / std::sqrt(squares / count + eps))};
}

template <class T>
struct normalize {
  statistics_of_row<T> of;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x, T weight, T bias) const {
    x = of.normal(x) * weight + bias;
  }
};

// One row's share of the gradients of weight and bias, added up in Sum.
template <class T>
struct normalize_parameters_derivative {
  statistics_of_row<T> of;
  template <class Sum>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(Sum& weight, Sum& bias, T gradient, T x) const {
    weight += static_cast<Sum>(gradient * of.normal(x));
    bias += static_cast<Sum>(gradient);
  }
};

template <class T>
struct normalize_derivative {
  statistics_of_row<T> of;
  T mean_gradient, mean_product; // mean(g) and mean(g h)
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T x, T weight) const {
    gradient = of.inverse * (gradient * weight - mean_gradient - of.normal(x) * mean_product);
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
