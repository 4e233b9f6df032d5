// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/batch_norm/cuda.cuh>
#include <cairn/ops/channel_statistics/channel_statistics.hpp>
#include <cairn/ops/elementwise/cuda_sums.cuh>

namespace cairn::detail {

// The rows of a map are as far apart as batch_distances takes its features to be.
template <class T>
struct statistics_of_map : batch_distances<T> {
  using wide = accumulated<T>;
  wide* statistics;
  CAIRN_DEVICE void finish(std::size_t column, double sum, double squares) const {
    const double share = this->rows == 0 ? 0 : 1 / static_cast<double>(this->rows);
    const double distance = sum * share, spread = squares * share - distance * distance;
    statistics[2 * column] = static_cast<wide>(this->rows == 0 ? 0 : this->first(column) + distance);
    statistics[2 * column + 1] = static_cast<wide>(spread < 0 ? 0 : spread); // NaN stays
  }
};

// The coefficients of a channel by which its statistics change the gradient of a map: dx = dy + first + second (x - mean).
template <class T>
struct statistics_slopes {
  double rows;
  const T *statistics, *gradient;
  T *mean, *first, *second;
  CAIRN_DEVICE void operator()(std::size_t c) const {
    mean[c] = statistics[2 * c];
    first[c] = static_cast<T>(static_cast<double>(gradient[2 * c]) / rows);
    second[c] = static_cast<T>(2 * static_cast<double>(gradient[2 * c + 1]) / rows);
  }
};
// The gradient of a map with the part through its statistics. Without `mean` there is no such part; a dy without data is 0.
template <class T>
struct gradient_of_map {
  using wide = accumulated<T>;
  matrix<const T> dy, x;
  const wide *mean, *first, *second;
  CAIRN_DEVICE wide operator()(std::size_t row, std::size_t column) const {
    const wide own = dy.data == nullptr ? wide{0} : widened(dy(row, column));
    return mean == nullptr ? own : own + (first[column] + second[column] * (widened(x(row, column)) - mean[column]));
  }
};
template <class T>
struct add_statistics_gradient {
  gradient_of_map<T> from;
  matrix<T> dx;
  divisor columns;
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t row = columns.of(at), column = columns.rest(at, row);
    dx(row, column) = static_cast<T>(from(row, column));
  }
};

template <class T>
struct move_channel_statistics {
  double rows, momentum;
  T *running_mean, *running_variance;
  const T* statistics;
  CAIRN_DEVICE T moved(T running, double now) const {
    return static_cast<T>((1 - momentum) * static_cast<double>(running) + momentum * now);
  }
  CAIRN_DEVICE void operator()(std::size_t c) const {
    if (rows > 0) running_mean[c] = moved(running_mean[c], static_cast<double>(statistics[2 * c]));
    if (rows > 1)
      running_variance[c] = moved(running_variance[c], static_cast<double>(statistics[2 * c + 1]) * (rows / (rows - 1)));
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void channel_statistics(cuda::queue& queue, matrix<const T> x, std::type_identity_t<accumulated<T>>* statistics) {
  detail::sum_columns_then(queue, "channel_statistics", x.rows, x.columns,
                           detail::statistics_of_map<T>{{x.rows, x.stride, x.data}, statistics});
}

template <detail::floating_element T>
void channel_statistics_backward(cuda::queue& queue, matrix<T> dx, std::type_identity_t<matrix<const T>> dy,
                                 std::type_identity_t<matrix<const T>> x, const std::type_identity_t<accumulated<T>>* statistics,
                                 const std::type_identity_t<accumulated<T>>* gradient) {
  constexpr const char* op = "channel_statistics_backward";
  const detail::of_channels<T> of(queue, op, dx.columns);
  detail::launch_each(queue, op, dx.columns,
                      detail::statistics_slopes<accumulated<T>>{static_cast<double>(dx.rows), statistics, gradient, of.factor,
                                                                of.shift, of.slope});
  detail::launch_each(queue, op, dx.rows * dx.columns,
                      detail::add_statistics_gradient<T>{{dy, x, of.factor, of.shift, of.slope}, dx, dx.columns});
}

template <std::floating_point T>
void channel_statistics_update(cuda::queue& queue, std::size_t rows, std::size_t channels, double momentum, T* running_mean,
                               T* running_variance, const T* statistics) {
  detail::launch_each(
      queue, "channel_statistics_update", channels,
      detail::move_channel_statistics<T>{static_cast<double>(rows), momentum, running_mean, running_variance, statistics});
}

} // namespace cairn::ops
