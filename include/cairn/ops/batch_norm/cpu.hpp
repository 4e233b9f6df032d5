// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/batch_norm/batch_norm.hpp>
#include <cairn/ops/batch_norm/formula.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// One value for each column of a strip, of the type of the statistics.
template <class T>
struct alignas(64) strip_of {
  T at[strip];
};

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
  if (rows == 0) return;
  widened_row<T> first;
  add_widened(add_distances{}, std::array{&to.first[0], &to.second[0]},
              std::array{matrix<const T>{input + begin, rows, columns, features}},
              std::array{first.read(input + begin, columns)});
}

// The statistics that the derivative of a strip needs, besides its sums.
template <class T>
struct statistics_of_strip {
  strip_of<accumulated<T>> mean;
  double inverse[strip];
};
// Not inlined: g++ would warn about the columns beyond the last, which are never read.
template <class T>
[[gnu::noinline]] void read_statistics(statistics_of_strip<T>& of, std::size_t features, std::size_t begin, std::size_t columns,
                                       double eps, const accumulated<T>* statistics) {
  for (std::size_t j = 0; j < columns; ++j) {
    of.mean.at[j] = statistics[begin + j];
    of.inverse[j] = inverse_deviation(statistics[features + begin + j], eps);
  }
}

// add_gradients for these columns, and the gradients of the parameters.
template <class T>
void sum_gradients(std::size_t rows, std::size_t features, std::size_t begin, std::size_t columns, sums_of_strip& to,
                   accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                   const statistics_of_strip<T>& of) {
  const matrix<const T> dy{output_gradient + begin, rows, columns, features};
  const matrix<const T> x{input + begin, rows, columns, features};
  add_widened(add_gradients{}, std::array{&to.first[0], &to.second[0]}, std::array{dy, x},
              std::array<const accumulated<T>*, 1>{of.mean.at});
  for (std::size_t j = 0; j < columns; ++j) {
    if (bias_gradient != nullptr) bias_gradient[begin + j] = static_cast<accumulated<T>>(to.first[j]);
    if (weight_gradient != nullptr) weight_gradient[begin + j] = static_cast<accumulated<T>>(to.second[j] * of.inverse[j]);
  }
}

// dx of a strip, from its sums over `count` rows.
template <class T, class Derivative>
void differentiate_strip(std::size_t rows, std::size_t features, std::size_t begin, std::size_t columns, T* input_gradient,
                         const T* output_gradient, const T* input, const statistics_of_strip<T>& of, const T* weight,
                         const double* sums, const double* products, double count, const Derivative& derivative) {
  using wide = accumulated<T>;
  strip_of<wide> factor, gradient_mean, slope;
  for (std::size_t j = 0; j < columns; ++j) {
    const derivative_factors<wide> found(of.inverse[j], weight[begin + j], sums[j], products[j], count);
    factor.at[j] = found.factor;
    gradient_mean.at[j] = found.gradient_mean;
    slope.at[j] = found.slope;
  }
  const set_for_results<T> set = widest_for_results<T>();
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t first = row * features + begin;
    run_mixed<T>(set, derivative, columns, written{input_gradient + first},
                 taken{output_gradient + first, input + first, of.mean.at, factor.at, gradient_mean.at, slope.at});
  }
}

// Calls f with the function of elements that differentiates, with the derivative of the activation before it.
template <class F>
void with_derivative(activation before, const F& f) {
  if (before == activation::relu) f(masked_batch_norm_derivative{});
  else f(batch_norm_derivative{});
}

// The norm and a ReLU of a result that is then rounded to 16 bits, with the bits of a ReLU after the rounding: a result that is
// rounded to -0 stays -0, and one below `least`, half of the negative number nearest to 0, becomes 0. NaN stays.
struct center_scale_and_rectify_rounded {
  float least;
  [[gnu::always_inline]] inline void operator()(float& x, float mean, float factor, float bias) const {
    center_and_scale{}(x, mean, factor, bias);
    x = blend(x < least, 0.0F, x);
  }
};

// y = then((x - mean) r w + bias) for the columns [begin, begin + columns).
template <class T>
void normalize_strip(std::size_t rows, std::size_t features, std::size_t begin, std::size_t columns, double eps, T* output,
                     const T* input, const accumulated<T>* mean, const accumulated<T>* variance, const T* weight, const T* bias,
                     activation then) {
  using wide = accumulated<T>;
  const set_for_results<T> set = widest_for_results<T>();
  strip_of<wide> factor;
  for (std::size_t j = 0; j < columns; ++j)
    factor.at[j] = factor_of<wide>(inverse_deviation(variance[begin + j], eps), weight[begin + j]);
  widened_row<T> added;
  const wide* const shift = added.read(bias + begin, columns);
  const auto apply = [&](const auto& f) {
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t first = row * features + begin;
      run_mixed<T>(set, f, columns, written{output + first}, taken{input + first, mean + begin, factor.at, shift});
    }
  };
  if (then != activation::relu) return apply(center_and_scale{});
  if constexpr (is_narrow<T>) apply(center_scale_and_rectify_rounded{-0.5F * static_cast<float>(T::from_bits(1))});
  else apply(center_scale_and_rectify{});
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void batch_norm_forward(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* output,
                        accumulated<T>* statistics, const T* input, const T* weight, const T* bias,
                        activation then = activation::none, const std::type_identity_t<running_statistics<T>>& moved = {}) {
  const double share = detail::share_of(static_cast<double>(rows));
  accumulated<T>*const mean = statistics, *const variance = statistics + features;
  detail::for_each_strip(queue, rows, features, [&](std::size_t begin, std::size_t columns) {
    detail::sums_of_strip sums(columns);
    detail::sum_distances(rows, features, begin, columns, sums, input);
    for (std::size_t j = 0; j < columns; ++j) {
      const double first = rows == 0 ? 0 : static_cast<double>(input[begin + j]);
      const detail::mean_and_variance<accumulated<T>> found(first, sums.first[j], sums.second[j], share);
      mean[begin + j] = found.mean;
      variance[begin + j] = found.variance;
    }
    if (moved.mean != nullptr) {
      const detail::move_statistics<accumulated<T>> f{features, moved.momentum, moved.mean, moved.variance, statistics};
      for (std::size_t j = 0; j < columns; ++j) f.move(begin + j, static_cast<double>(rows));
    }
    detail::normalize_strip(rows, features, begin, columns, eps, output, input, mean, variance, weight, bias, then);
  });
}

template <class T>
void batch_norm_evaluate(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* output, const T* input,
                         const accumulated<T>* mean, const accumulated<T>* variance, const T* weight, const T* bias,
                         activation then = activation::none) {
  detail::for_each_strip(queue, rows, features, [&](std::size_t begin, std::size_t columns) {
    detail::normalize_strip(rows, features, begin, columns, eps, output, input, mean, variance, weight, bias, then);
  });
}

template <class T>
void batch_norm_update(cpu::queue&, std::size_t rows, std::size_t features, double momentum, T* running_mean, T* running_variance,
                       const T* statistics) {
  const detail::move_statistics<T> f{features, momentum, running_mean, running_variance, statistics};
  for (std::size_t j = 0; j < features; ++j) f.move(j, static_cast<double>(rows));
}
template <class T>
void batch_norm_update(cpu::queue&, std::size_t features, double momentum, T* running_mean, T* running_variance,
                       const T* statistics, const double* rows) {
  const detail::move_statistics<T> f{features, momentum, running_mean, running_variance, statistics};
  for (std::size_t j = 0; j < features; ++j) f.move(j, *rows);
}

template <class T>
void batch_norm_backward(cpu::queue& queue, std::size_t rows, std::size_t features, double eps, T* input_gradient,
                         accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight, activation before = activation::none) {
  detail::for_each_strip(queue, rows, features, [&](std::size_t begin, std::size_t columns) {
    detail::statistics_of_strip<T> of;
    detail::read_statistics(of, features, begin, columns, eps, statistics);
    detail::sums_of_strip sums(columns);
    detail::sum_gradients(rows, features, begin, columns, sums, weight_gradient, bias_gradient, output_gradient, input, of);
    if (input_gradient == nullptr) return;
    detail::with_derivative(before, [&](const auto& f) {
      detail::differentiate_strip(rows, features, begin, columns, input_gradient, output_gradient, input, of, weight, sums.first,
                                  sums.second, static_cast<double>(rows), f);
    });
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
      detail::sum_from_distances(sums[begin + j], sums[features + begin + j], count,
                                 rows == 0 ? 0 : static_cast<double>(input[begin + j]), distances.first[j], distances.second[j]);
  });
}

template <class T>
void batch_norm_statistics(cpu::queue&, std::size_t features, T* statistics, const double* sums) {
  const double share = detail::share_of(sums[2 * features]);
  for (std::size_t j = 0; j < features; ++j) {
    const detail::mean_and_variance<T> found(0, sums[j], sums[features + j], share);
    statistics[j] = found.mean;
    statistics[features + j] = found.variance;
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
                               const double* sums, activation before = activation::none) {
  detail::for_each_strip(queue, rows, features, [&](std::size_t begin, std::size_t columns) {
    detail::statistics_of_strip<T> of;
    detail::read_statistics(of, features, begin, columns, eps, statistics);
    detail::with_derivative(before, [&](const auto& f) {
      detail::differentiate_strip(rows, features, begin, columns, input_gradient, output_gradient, input, of, weight,
                                  sums + begin, sums + features + begin, sums[2 * features], f);
    });
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
