// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/blend.hpp>

CAIRN_KERNELS_BEGIN

// The formulas of batch_norm.hpp for one element or one channel, on every device. T is the type of the statistics: float for
// 16-bit elements. Sums over rows and what follows from them are doubles.
namespace cairn::detail {

// Adds up the distances of a column from its first element, and their squares. Even if the first element is an outlier, it is
// part of the variance: (m - x_0)^2 <= rows s^2. So the subtraction cancels at most as many bits as `rows` has.
struct add_distances {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(double& sum, double& squares, T x, T first) const {
    const double distance = static_cast<double>(x) - static_cast<double>(first);
    sum += distance;
    squares += distance * distance;
  }
};

struct add_gradients {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(double& sum, double& products, T gradient, T x, T mean) const {
    const auto dy = static_cast<double>(gradient);
    sum += dy;
    products += dy * (static_cast<double>(x) - static_cast<double>(mean));
  }
};

struct center_and_scale {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x, T mean, T factor, T bias) const {
    x = (x - mean) * factor + bias;
  }
};

// The same and a ReLU. NaN stays NaN.
struct center_scale_and_rectify {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x, T mean, T factor, T bias) const {
    center_and_scale{}(x, mean, factor, bias);
    x = blend(x < T{0}, T{0}, x);
  }
};

// slope is mean(dy h) r, so that slope (x - m) is h mean(dy h).
struct batch_norm_derivative {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T x, T mean, T factor, T gradient_mean,
                                                                  T slope) const {
    gradient = factor * (gradient - gradient_mean - (x - mean) * slope);
  }
};

// The same times the derivative of a ReLU whose output is x.
struct masked_batch_norm_derivative {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T x, T mean, T factor, T gradient_mean,
                                                                  T slope) const {
    batch_norm_derivative{}(gradient, x, mean, factor, gradient_mean, slope);
    gradient = blend(x <= T{0}, T{0}, gradient);
  }
};

template <class T>
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline double inverse_deviation(T variance, double eps) {
  return 1 / std::sqrt(static_cast<double>(variance) + eps);
}

// r w, by which center_and_scale multiplies.
template <class T, class Weight>
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline T factor_of(double inverse, Weight weight) {
  return static_cast<T>(inverse * static_cast<double>(weight));
}

// The factors of batch_norm_derivative, from the sums of add_gradients over `count` rows.
template <class T>
struct derivative_factors {
  T factor, gradient_mean, slope;

  template <class Weight>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline derivative_factors(double inverse, Weight weight, double sum, double products,
                                                                     double count)
      : factor(factor_of<T>(inverse, weight)), gradient_mean(static_cast<T>(sum / count)),
        slope(static_cast<T>(products * inverse * inverse / count)) {}
};

// The mean and the variance of a channel, from the sums of numbers' distances from `first` and of their squares; `share` is
// 1 / rows, or 0 without rows.
template <class T>
struct mean_and_variance {
  T mean, variance;

  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline mean_and_variance(double first, double sum, double squares, double share) {
    const double distance = sum * share, spread = squares * share - distance * distance;
    mean = static_cast<T>(first + distance);
    variance = static_cast<T>(spread < 0 ? 0 : spread); // NaN stays
  }
};
CAIRN_HOST_DEVICE inline double share_of(double count) { return count == 0 ? 0 : 1 / count; }

// Makes (sum of x, sum of x^2) of one channel from its sums of distances.
CAIRN_HOST_DEVICE inline void sum_from_distances(double& sum, double& squares, double count, double first, double distances,
                                                 double of_squares) {
  sum = count * first + distances;
  squares = of_squares + first * (2 * distances + count * first);
}

// Moves the running statistics of channel j after a batch of `count` rows.
template <class T>
struct move_statistics {
  std::size_t features;
  double momentum;
  T *running_mean, *running_variance;
  const T* statistics;

  CAIRN_HOST_DEVICE T moved(T running, double now) const {
    return static_cast<T>((1 - momentum) * static_cast<double>(running) + momentum * now);
  }
  CAIRN_HOST_DEVICE void move(std::size_t j, double count) const {
    if (count > 0) running_mean[j] = moved(running_mean[j], static_cast<double>(statistics[j]));
    if (count > 1)
      running_variance[j] = moved(running_variance[j], static_cast<double>(statistics[features + j]) * (count / (count - 1)));
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
