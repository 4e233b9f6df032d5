// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/batch_norm/batch_norm.hpp>
#include <cairn/ops/batch_norm/cpu.hpp>
#include <cairn/ops/elementwise/cuda_sums.cuh>

namespace cairn {

namespace detail {

template <class T>
CAIRN_DEVICE double inverse_deviation_of(T variance, double eps) {
  return 1 / sqrt(static_cast<double>(variance) + eps);
}

// Sums of distances from the first row, and what becomes of them: see sum_columns_then.
template <class T>
struct batch_distances {
  std::size_t rows, features;
  const T* input;

  CAIRN_DEVICE double first(std::size_t column) const { return rows == 0 ? 0 : static_cast<double>(input[column]); }
  CAIRN_DEVICE void add(std::size_t row, std::size_t column, double& sum, double& squares) const {
    add_distances{}(sum, squares, input[row * features + column], input[column]);
  }
};
template <class T>
struct batch_statistics : batch_distances<T> {
  T* statistics;
  CAIRN_DEVICE void finish(std::size_t column, double sum, double squares) const {
    const double share = this->rows == 0 ? 0 : 1 / static_cast<double>(this->rows);
    const double distance = sum * share, spread = squares * share - distance * distance;
    statistics[column] = static_cast<T>(this->rows == 0 ? 0 : this->first(column) + distance);
    statistics[this->features + column] = static_cast<T>(spread < 0 ? 0 : spread); // NaN stays
  }
};
template <class T>
struct batch_sums : batch_distances<T> {
  double* sums;
  CAIRN_DEVICE void finish(std::size_t column, double distances, double squares) const {
    const auto count = static_cast<double>(this->rows);
    const double first = this->first(column);
    sums[column] = count * first + distances;
    sums[this->features + column] = squares + first * (2 * distances + count * first);
    if (column == 0) sums[2 * this->features] = count;
  }
};
// Of the gradients; `sums`, if wanted, is (2, features).
template <class T>
struct batch_gradients {
  std::size_t features;
  double eps;
  T *weight_gradient, *bias_gradient;
  double* sums;
  const T *output_gradient, *input, *statistics;

  CAIRN_DEVICE void add(std::size_t row, std::size_t column, double& sum, double& products) const {
    const std::size_t at = row * features + column;
    add_gradients{}(sum, products, output_gradient[at], input[at], statistics[column]);
  }
  CAIRN_DEVICE void finish(std::size_t column, double sum, double products) const {
    sums[column] = sum;
    sums[features + column] = products;
    if (bias_gradient != nullptr) bias_gradient[column] = static_cast<T>(sum);
    if (weight_gradient != nullptr)
      weight_gradient[column] = static_cast<T>(products * inverse_deviation_of(statistics[features + column], eps));
  }
};

// One element each.
template <class T>
struct batch_normalize {
  std::size_t features;
  double eps;
  T* output;
  const T *input, *mean, *variance, *weight, *bias;
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t j = at % features;
    T value = input[at];
    const T factor = static_cast<T>(inverse_deviation_of(variance[j], eps) * static_cast<double>(weight[j]));
    center_and_scale{}(value, mean[j], factor, bias[j]);
    output[at] = value;
  }
};
// `rows` is null where the number of rows is `own_rows`.
template <class T>
struct batch_input_gradient {
  std::size_t features;
  double eps;
  T* input_gradient;
  const T *output_gradient, *input, *statistics, *weight;
  const double *sums, *rows;
  double own_rows;
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t j = at % features;
    const double count = rows == nullptr ? own_rows : *rows, inverse = inverse_deviation_of(statistics[features + j], eps);
    T value = output_gradient[at];
    batch_norm_derivative{}(value, input[at], statistics[j], static_cast<T>(inverse * static_cast<double>(weight[j])),
                            static_cast<T>(sums[j] / count), static_cast<T>(sums[features + j] * inverse * inverse / count));
    input_gradient[at] = value;
  }
};
template <class T>
struct batch_move_statistics {
  std::size_t features;
  double momentum;
  T *running_mean, *running_variance;
  const T* statistics;
  const double* rows;
  double own_rows;
  CAIRN_DEVICE T moved(T running, double now) const {
    return static_cast<T>((1 - momentum) * static_cast<double>(running) + momentum * now);
  }
  CAIRN_DEVICE void operator()(std::size_t j) const {
    const double count = rows == nullptr ? own_rows : *rows;
    if (count > 0) running_mean[j] = moved(running_mean[j], static_cast<double>(statistics[j]));
    if (count > 1)
      running_variance[j] = moved(running_variance[j], static_cast<double>(statistics[features + j]) * (count / (count - 1)));
  }
};
template <class T>
struct batch_statistics_of_sums {
  std::size_t features;
  T* statistics;
  const double* sums;
  CAIRN_DEVICE void operator()(std::size_t j) const {
    const double count = sums[2 * features], share = count == 0 ? 0 : 1 / count;
    const double mean = sums[j] * share, spread = sums[features + j] * share - mean * mean;
    statistics[j] = static_cast<T>(mean);
    statistics[features + j] = static_cast<T>(spread < 0 ? 0 : spread); // NaN stays
  }
};

} // namespace detail

template <std::floating_point T>
void batch_norm_evaluate(cuda::queue& queue, std::size_t rows, std::size_t features, double eps, T* output, const T* input,
                         const T* mean, const T* variance, const T* weight, const T* bias) {
  detail::launch_each(queue, "batch_norm_evaluate", rows * features,
                      detail::batch_normalize<T>{features, eps, output, input, mean, variance, weight, bias});
}

template <std::floating_point T>
void batch_norm_forward(cuda::queue& queue, std::size_t rows, std::size_t features, double eps, T* output, T* statistics,
                        const T* input, const T* weight, const T* bias) {
  detail::sum_columns_then(queue, "batch_norm_forward", rows, features,
                           detail::batch_statistics<T>{{rows, features, input}, statistics});
  const T *const mean = statistics, *const variance = statistics + features;
  detail::launch_each(queue, "batch_norm_forward", rows * features,
                      detail::batch_normalize<T>{features, eps, output, input, mean, variance, weight, bias});
}

template <std::floating_point T>
void batch_norm_update(cuda::queue& queue, std::size_t rows, std::size_t features, double momentum, T* running_mean,
                       T* running_variance, const T* statistics) {
  detail::launch_each(queue, "batch_norm_update", features,
                      detail::batch_move_statistics<T>{features, momentum, running_mean, running_variance, statistics, nullptr,
                                                       static_cast<double>(rows)});
}
template <std::floating_point T>
void batch_norm_update(cuda::queue& queue, std::size_t features, double momentum, T* running_mean, T* running_variance,
                       const T* statistics, const double* rows) {
  detail::launch_each(queue, "batch_norm_update", features,
                      detail::batch_move_statistics<T>{features, momentum, running_mean, running_variance, statistics, rows, 0});
}

template <std::floating_point T>
void batch_norm_gradient_sums(cuda::queue& queue, std::size_t rows, std::size_t features, double eps, double* sums,
                              T* weight_gradient, T* bias_gradient, const T* output_gradient, const T* input,
                              const T* statistics) {
  detail::sum_columns_then(
      queue, "batch_norm_gradient_sums", rows, features,
      detail::batch_gradients<T>{features, eps, weight_gradient, bias_gradient, sums, output_gradient, input, statistics});
}

template <std::floating_point T>
void batch_norm_input_gradient(cuda::queue& queue, std::size_t rows, std::size_t features, double eps, T* input_gradient,
                               const T* output_gradient, const T* input, const T* statistics, const T* weight,
                               const double* sums) {
  detail::launch_each(queue, "batch_norm_input_gradient", rows * features,
                      detail::batch_input_gradient<T>{features, eps, input_gradient, output_gradient, input, statistics, weight,
                                                      sums, sums + 2 * features, 0});
}

template <std::floating_point T>
void batch_norm_backward(cuda::queue& queue, std::size_t rows, std::size_t features, double eps, T* input_gradient,
                         T* weight_gradient, T* bias_gradient, const T* output_gradient, const T* input, const T* statistics,
                         const T* weight) {
  constexpr const char* op = "batch_norm_backward";
  double* const sums = queue.kept(op, 2 * features).data();
  detail::sum_columns_then(
      queue, op, rows, features,
      detail::batch_gradients<T>{features, eps, weight_gradient, bias_gradient, sums, output_gradient, input, statistics});
  if (input_gradient != nullptr)
    detail::launch_each(queue, op, rows * features,
                        detail::batch_input_gradient<T>{features, eps, input_gradient, output_gradient, input, statistics, weight,
                                                        sums, nullptr, static_cast<double>(rows)});
}

template <std::floating_point T>
void batch_norm_sums(cuda::queue& queue, std::size_t rows, std::size_t features, double* sums, const T* input) {
  detail::sum_columns_then(queue, "batch_norm_sums", rows, features, detail::batch_sums<T>{{rows, features, input}, sums});
}

template <std::floating_point T>
void batch_norm_statistics(cuda::queue& queue, std::size_t features, T* statistics, const double* sums) {
  detail::launch_each(queue, "batch_norm_statistics", features, detail::batch_statistics_of_sums<T>{features, statistics, sums});
}

} // namespace cairn
