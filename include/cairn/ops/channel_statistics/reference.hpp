// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/channel_statistics/channel_statistics.hpp>

CAIRN_KERNELS_BEGIN

// Follows the formulas, one channel after another, in double, for elements of any type. Results are rounded only at the end.
namespace cairn::detail {

template <class T>
void channel_statistics_reference(matrix<const T> x, accumulated<T>* statistics) {
  using A = accumulated<T>;
  for (std::size_t c = 0; c < x.columns; ++c) {
    double mean = 0, squares = 0;
    for (std::size_t r = 0; r < x.rows; ++r) mean += static_cast<double>(x(r, c)) / static_cast<double>(x.rows);
    for (std::size_t r = 0; r < x.rows; ++r) {
      const double distance = static_cast<double>(x(r, c)) - mean;
      squares += distance * distance;
    }
    statistics[2 * c] = static_cast<A>(mean);
    statistics[2 * c + 1] = static_cast<A>(x.rows == 0 ? 0 : squares / static_cast<double>(x.rows));
  }
}

template <class T>
void channel_statistics_backward_reference(matrix<T> dx, matrix<const T> dy, matrix<const T> x, const accumulated<T>* statistics,
                                           const accumulated<T>* gradient) {
  const auto rows = static_cast<double>(x.rows);
  for (std::size_t r = 0; r < x.rows; ++r)
    for (std::size_t c = 0; c < x.columns; ++c) {
      const double distance = static_cast<double>(x(r, c)) - static_cast<double>(statistics[2 * c]);
      dx(r, c) = static_cast<T>(static_cast<accumulated<T>>((dy.data == nullptr ? 0 : static_cast<double>(dy(r, c))) +
                                                            static_cast<double>(gradient[2 * c]) / rows +
                                                            2 * static_cast<double>(gradient[2 * c + 1]) * distance / rows));
    }
}

// The norm of one element, before its ReLU.
template <class T>
double normalized(const channel_norm<T>& norm, std::size_t c, double x) {
  const double deviation = std::sqrt(static_cast<double>(norm.variance[norm.step * c]) + norm.eps);
  return (x - static_cast<double>(norm.mean[norm.step * c])) / deviation * static_cast<double>(norm.weight[c]) +
         static_cast<double>(norm.bias[c]);
}

} // namespace cairn::detail

CAIRN_KERNELS_END
