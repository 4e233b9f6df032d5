// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/batch_norm/batch_norm.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/row_sums.hpp>

CAIRN_KERNELS_BEGIN

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

// slope is mean(dy h) r, so that slope (x - m) is h mean(dy h).
struct batch_norm_derivative {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T x, T mean, T factor, T gradient_mean,
                                                                  T slope) const {
    gradient = factor * (gradient - gradient_mean - (x - mean) * slope);
  }
};

template <class A>
double inverse_deviation(A variance, double eps) {
  return 1 / std::sqrt(static_cast<double>(variance) + eps);
}

// One value for each column of a strip, of the type of the elements.
template <class T>
struct alignas(64) strip_of {
  T at[strip];
};

// Makes (sum of x, sum of x^2) of one column from its sums of distances.
inline void sum_from_distances(double* sums, std::size_t features, double count, double first, double distances, double squares) {
  sums[0] = count * first + distances;
  sums[features] = squares + first * (2 * distances + count * first);
}

// Two sums over rows for each column of a strip.
struct alignas(64) sums_of_strip {
  double first[strip];
  double second[strip];

  explicit sums_of_strip(std::size_t columns) {
    std::fill_n(first, columns, 0.0);
    std::fill_n(second, columns, 0.0);
  }
};

// add_distances for the columns [begin, begin + columns).
template <class T>
void sum_distances(std::size_t rows, std::size_t features, std::size_t begin, std::size_t columns, sums_of_strip& to,
                   const T* input) {
  const matrix<const T> x{input + begin, rows, columns, features}, first{input + begin, rows, columns, 0};
  add_rows(widest_for_elements(), add_distances{}, std::array{&to.first[0], &to.second[0]}, std::array{x, first});
}

// The statistics that the derivative of a strip needs, besides its sums.
template <class T>
struct statistics_of_strip {
  strip_of<T> mean;
  double inverse[strip];
};
// Not inlined: g++ would warn about the columns beyond the last, which are never read.
template <class T>
[[gnu::noinline]] void read_statistics(statistics_of_strip<T>& of, std::size_t features, std::size_t begin, std::size_t columns,
                                       double eps, const accumulated<T>* statistics) {
  for (std::size_t j = 0; j < columns; ++j) {
    of.mean.at[j] = static_cast<T>(statistics[begin + j]);
    of.inverse[j] = inverse_deviation(statistics[features + begin + j], eps);
  }
}

// add_gradients for these columns, and the gradients of the parameters.
template <class T>
void sum_gradients(std::size_t rows, std::size_t features, std::size_t begin, std::size_t columns, sums_of_strip& to,
                   accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                   const statistics_of_strip<T>& of) {
  const matrix<const T> dy{output_gradient + begin, rows, columns, features};
  const matrix<const T> x{input + begin, rows, columns, features}, center{of.mean.at, rows, columns, 0};
  add_rows(widest_for_elements(), add_gradients{}, std::array{&to.first[0], &to.second[0]}, std::array{dy, x, center});
  for (std::size_t j = 0; j < columns; ++j) {
    if (bias_gradient != nullptr) bias_gradient[begin + j] = static_cast<accumulated<T>>(to.first[j]);
    if (weight_gradient != nullptr) weight_gradient[begin + j] = static_cast<accumulated<T>>(to.second[j] * of.inverse[j]);
  }
}

// dx of a strip, from its sums over `count` rows.
template <class T>
void differentiate_strip(std::size_t rows, std::size_t features, std::size_t begin, std::size_t columns, T* input_gradient,
                         const T* output_gradient, const T* input, const statistics_of_strip<T>& of, const T* weight,
                         const double* sums, const double* products, double count) {
  strip_of<T> factor, gradient_mean, slope;
  for (std::size_t j = 0; j < columns; ++j) {
    factor.at[j] = static_cast<T>(of.inverse[j] * static_cast<double>(weight[begin + j]));
    gradient_mean.at[j] = static_cast<T>(sums[j] / count);
    slope.at[j] = static_cast<T>(products[j] * of.inverse[j] * of.inverse[j] / count);
  }
  const instruction_set set = widest_for_elements();
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t first = row * features + begin;
    run_elements(
        set, batch_norm_derivative{}, columns, std::array{input_gradient + first},
        std::array<const T*, 6>{output_gradient + first, input + first, of.mean.at, factor.at, gradient_mean.at, slope.at});
  }
}

// y = (x - mean) r w + bias for the columns [begin, begin + columns).
template <class T>
void normalize_strip(std::size_t rows, std::size_t features, std::size_t begin, std::size_t columns, double eps, T* output,
                     const T* input, const accumulated<T>* mean, const accumulated<T>* variance, const T* weight, const T* bias) {
  const instruction_set set = widest_for_elements();
  strip_of<T> center, factor;
  for (std::size_t j = 0; j < columns; ++j) {
    center.at[j] = static_cast<T>(mean[begin + j]);
    factor.at[j] = static_cast<T>(inverse_deviation(variance[begin + j], eps) * static_cast<double>(weight[begin + j]));
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t first = row * features + begin;
    run_elements(set, center_and_scale{}, columns, std::array{output + first},
                 std::array<const T*, 4>{input + first, center.at, factor.at, bias + begin});
  }
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void batch_norm_forward(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* output,
                        accumulated<T>* statistics, const T* input, const T* weight, const T* bias) {
  const double share = rows == 0 ? 0 : 1 / static_cast<double>(rows);
  accumulated<T>*const mean = statistics, *const variance = statistics + features;
  detail::for_each_strip(queue, rows, features, [&](std::size_t begin, std::size_t columns) {
    detail::sums_of_strip sums(columns);
    detail::sum_distances(rows, features, begin, columns, sums, input);
    for (std::size_t j = 0; j < columns; ++j) {
      const double distance = sums.first[j] * share, spread = sums.second[j] * share - distance * distance;
      mean[begin + j] = rows == 0 ? 0 : static_cast<accumulated<T>>(static_cast<double>(input[begin + j]) + distance);
      variance[begin + j] = static_cast<accumulated<T>>(spread < 0 ? 0 : spread); // NaN stays
    }
    detail::normalize_strip(rows, features, begin, columns, eps, output, input, mean, variance, weight, bias);
  });
}

template <class T>
void batch_norm_evaluate(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* output, const T* input,
                         const accumulated<T>* mean, const accumulated<T>* variance, const T* weight, const T* bias) {
  detail::for_each_strip(queue, rows, features, [&](std::size_t begin, std::size_t columns) {
    detail::normalize_strip(rows, features, begin, columns, eps, output, input, mean, variance, weight, bias);
  });
}

} // namespace cairn::ops

namespace cairn::detail {

template <class T>
void move_running_statistics(double count, std::size_t features, double momentum, T* running_mean, T* running_variance,
                             const T* statistics) {
  const auto moved = [momentum](T running, double now) {
    return static_cast<T>((1 - momentum) * static_cast<double>(running) + momentum * now);
  };
  for (std::size_t j = 0; j < features && count > 0; ++j)
    running_mean[j] = moved(running_mean[j], static_cast<double>(statistics[j]));
  for (std::size_t j = 0; j < features && count > 1; ++j)
    running_variance[j] = moved(running_variance[j], static_cast<double>(statistics[features + j]) * (count / (count - 1)));
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void batch_norm_update(cpu::queue&, std::size_t rows, std::size_t features, double momentum, T* running_mean, T* running_variance,
                       const T* statistics) {
  detail::move_running_statistics(static_cast<double>(rows), features, momentum, running_mean, running_variance, statistics);
}
template <class T>
void batch_norm_update(cpu::queue&, std::size_t features, double momentum, T* running_mean, T* running_variance,
                       const T* statistics, const double* rows) {
  detail::move_running_statistics(*rows, features, momentum, running_mean, running_variance, statistics);
}

template <class T>
void batch_norm_backward(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* input_gradient,
                         accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight) {
  detail::for_each_strip(queue, rows, features, [&](std::size_t begin, std::size_t columns) {
    detail::statistics_of_strip<T> of;
    detail::read_statistics(of, features, begin, columns, eps, statistics);
    detail::sums_of_strip sums(columns);
    detail::sum_gradients(rows, features, begin, columns, sums, weight_gradient, bias_gradient, output_gradient, input, of);
    if (input_gradient == nullptr) return;
    detail::differentiate_strip(rows, features, begin, columns, input_gradient, output_gradient, input, of, weight, sums.first,
                                sums.second, static_cast<double>(rows));
  });
}

template <class T>
void batch_norm_sums(cpu::queue& queue, std::size_t rows, std::size_t features, double* sums, const T* input) {
  const auto count = static_cast<double>(rows);
  sums[2 * features] = count;
  detail::for_each_strip(queue, rows, features, [&](std::size_t begin, std::size_t columns) {
    detail::sums_of_strip distances(columns);
    detail::sum_distances(rows, features, begin, columns, distances, input);
    for (std::size_t j = 0; j < columns; ++j) // x = first + distance
      detail::sum_from_distances(sums + begin + j, features, count, rows == 0 ? 0 : static_cast<double>(input[begin + j]),
                                 distances.first[j], distances.second[j]);
  });
}

template <class T>
void batch_norm_statistics(cpu::queue&, std::size_t features, T* statistics, const double* sums) {
  const double count = sums[2 * features], share = count == 0 ? 0 : 1 / count;
  for (std::size_t j = 0; j < features; ++j) {
    const double mean = sums[j] * share, spread = sums[features + j] * share - mean * mean;
    statistics[j] = static_cast<T>(mean);
    statistics[features + j] = static_cast<T>(spread < 0 ? 0 : spread); // NaN stays
  }
}

template <class T>
void batch_norm_gradient_sums(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, double* sums,
                              accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient,
                              const T* input, const accumulated<T>* statistics) {
  detail::for_each_strip(queue, rows, features, [&](std::size_t begin, std::size_t columns) {
    detail::statistics_of_strip<T> of;
    detail::read_statistics(of, features, begin, columns, eps, statistics);
    detail::sums_of_strip own(columns);
    detail::sum_gradients(rows, features, begin, columns, own, weight_gradient, bias_gradient, output_gradient, input, of);
    std::copy_n(own.first, columns, sums + begin);
    std::copy_n(own.second, columns, sums + features + begin);
  });
}

template <class T>
void batch_norm_input_gradient(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* input_gradient,
                               const T* output_gradient, const T* input, const accumulated<T>* statistics, const T* weight,
                               const double* sums) {
  detail::for_each_strip(queue, rows, features, [&](std::size_t begin, std::size_t columns) {
    detail::statistics_of_strip<T> of;
    detail::read_statistics(of, features, begin, columns, eps, statistics);
    detail::differentiate_strip(rows, features, begin, columns, input_gradient, output_gradient, input, of, weight, sums + begin,
                                sums + features + begin, sums[2 * features]);
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
