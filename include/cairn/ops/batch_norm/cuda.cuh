// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/batch_norm/batch_norm.hpp>
#include <cairn/ops/batch_norm/formula.hpp>
#include <cairn/ops/elementwise/cuda_channels.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>

namespace cairn::detail {

// The coefficients of each channel in a forward or backward pass, in the queue's memory. They are computed once per channel, in
// double, so that the work on elements needs only the type of sums. Forward needs the factor, and the shift for a bias of 16
// bits.
template <class T>
struct of_channels {
  using wide = accumulated<T>;
  wide *factor = nullptr, *shift = nullptr, *slope = nullptr;

  of_channels(cuda::queue& queue, const char* op, std::size_t features) {
    const std::size_t apart = quads_for<wide>(features) * quad_width<wide>; // so that each is aligned if the first is
    factor = reinterpret_cast<wide*>(queue.kept(op, (3 * apart * sizeof(wide) + sizeof(double) - 1) / sizeof(double)).data());
    shift = factor + apart, slope = shift + apart;
  }

  // The factor of a norm, and its bias in the type of sums.
  CAIRN_DEVICE void write(std::size_t column, wide by, [[maybe_unused]] const T* bias) const {
    factor[column] = by;
    if constexpr (is_narrow<T>) shift[column] = widened(bias[column]);
  }
  const wide* widened_bias([[maybe_unused]] const T* bias) const {
    if constexpr (is_narrow<T>) return shift;
    else return bias;
  }
};

// Sums of distances from the first row; see sum_columns_then. Within a chain, distances are taken from the chain's own first
// row and added up as T's; the distance of that row from the first of all is added in double. So an outlier costs digits in its
// own chain only.
template <class T>
struct batch_distances {
  using wide = accumulated<T>;

  std::size_t rows, features;
  const T* input;

  CAIRN_DEVICE double first(std::size_t column) const { return rows == 0 ? 0 : static_cast<double>(widened(input[column])); }
  CAIRN_DEVICE void add(std::size_t row, std::size_t end, std::size_t column, double& sum, double& squares) const {
    const wide center = widened(input[row * features + column]);
    const double apart = static_cast<double>(center) - first(column), count = static_cast<double>(end - row);
    wide distances = 0, of_squares = 0;
    for (++row; row < end; ++row) {
      const wide distance = widened(input[row * features + column]) - center;
      distances += distance;
      of_squares += distance * distance;
    }
    const auto found = static_cast<double>(distances);
    sum += found + count * apart;
    squares += static_cast<double>(of_squares) + apart * (2 * found + count * apart);
  }
};
// The running statistics are moved by the kernel that finishes those of the batch.
template <class T>
struct batch_statistics : batch_distances<T> {
  using wide = accumulated<T>;

  double eps;
  wide* statistics;
  of_channels<T> to;
  const T *weight, *bias;
  running_statistics<T> moved;
  CAIRN_DEVICE void finish(std::size_t column, double sum, double squares) const {
    const double share = share_of(static_cast<double>(this->rows));
    const mean_and_variance<wide> found(this->first(column), sum, squares, share);
    statistics[column] = found.mean;
    statistics[this->features + column] = found.variance;
    to.write(column, factor_of<wide>(inverse_deviation(found.variance, eps), widened(weight[column])), bias);
    if (moved.mean != nullptr)
      move_statistics<wide>{this->features, moved.momentum, moved.mean, moved.variance, statistics}.move(
          column, static_cast<double>(this->rows));
  }
};
template <class T>
struct batch_sums : batch_distances<T> {
  double* sums;
  CAIRN_DEVICE void finish(std::size_t column, double distances, double squares) const {
    const auto count = static_cast<double>(this->rows);
    sum_from_distances(sums[column], sums[this->features + column], count, this->first(column), distances, squares);
    if (column == 0) sums[2 * this->features] = count;
  }
};
// Writes the coefficients of the input gradient, from the sums of a channel over `count` rows.
template <class T>
struct batch_derivative {
  using wide = accumulated<T>;

  std::size_t features;
  double eps;
  const wide* statistics;
  const T* weight;
  of_channels<T> to;
  CAIRN_DEVICE void write(std::size_t column, double sum, double products, double count) const {
    const double inverse = inverse_deviation(statistics[features + column], eps);
    const derivative_factors<wide> found(inverse, widened(weight[column]), sum, products, count);
    to.factor[column] = found.factor;
    to.shift[column] = found.gradient_mean;
    to.slope[column] = found.slope;
  }
};
// Sums of the gradients. They are written to `sums`, (2, features). If that is null, the coefficients of the input gradient are
// written at once.
template <class T>
struct batch_gradients {
  using wide = accumulated<T>;

  std::size_t rows, features;
  double eps;
  wide *weight_gradient, *bias_gradient;
  double* sums;
  const T *output_gradient, *input;
  const wide* statistics;
  batch_derivative<T> then;

  CAIRN_DEVICE void add(std::size_t row, std::size_t end, std::size_t column, double& sum, double& products) const {
    const wide mean = statistics[column];
    wide of_gradients = 0, of_products = 0;
    for (; row < end; ++row) {
      const std::size_t at = row * features + column;
      const wide dy = widened(output_gradient[at]);
      of_gradients += dy;
      of_products += dy * (widened(input[at]) - mean);
    }
    sum += static_cast<double>(of_gradients);
    products += static_cast<double>(of_products);
  }
  CAIRN_DEVICE void finish(std::size_t column, double sum, double products) const {
    if (sums != nullptr) sums[column] = sum, sums[features + column] = products;
    else then.write(column, sum, products, static_cast<double>(rows));
    if (bias_gradient != nullptr) bias_gradient[column] = static_cast<wide>(sum);
    if (weight_gradient != nullptr)
      weight_gradient[column] = static_cast<wide>(products * inverse_deviation(statistics[features + column], eps));
  }
};

// The functions of elements of T, with a ReLU or its derivative if asked for. A kernel waits for memory, not for this choice. The
// ReLU of 16 bits takes what was rounded, as one in a kernel of its own does: a result that is rounded to -0 stays -0.
template <class T>
struct center_scale_then {
  using wide = accumulated<T>;
  bool rectifies;
  CAIRN_DEVICE void operator()(wide& x, wide mean, wide factor, wide bias) const {
    center_and_scale{}(x, mean, factor, bias);
    if (!rectifies) return;
    if constexpr (is_narrow<T>) x = widened(static_cast<T>(x));
    x = blend(x < wide{0}, wide{0}, x);
  }
};
struct batch_norm_derivative_then {
  bool masks;
  template <class T>
  CAIRN_DEVICE void operator()(T& gradient, T x, T mean, T factor, T gradient_mean, T slope) const {
    if (masks) masked_batch_norm_derivative{}(gradient, x, mean, factor, gradient_mean, slope);
    else batch_norm_derivative{}(gradient, x, mean, factor, gradient_mean, slope);
  }
};

// One channel per thread.
template <class T>
struct batch_factors {
  double eps;
  of_channels<T> to;
  const accumulated<T>* variance;
  const T *weight, *bias;
  CAIRN_DEVICE void operator()(std::size_t j) const {
    to.write(j, factor_of<accumulated<T>>(inverse_deviation(variance[j], eps), widened(weight[j])), bias);
  }
};
template <class T>
struct batch_derivative_of_sums {
  batch_derivative<T> then;
  const double* sums; // (2, features), then the number of rows
  CAIRN_DEVICE void operator()(std::size_t j) const { then.write(j, sums[j], sums[then.features + j], sums[2 * then.features]); }
};
template <class T>
struct batch_move_statistics : move_statistics<T> {
  const double* rows;
  double own_rows;
  CAIRN_DEVICE void operator()(std::size_t j) const { this->move(j, rows == nullptr ? own_rows : *rows); }
};
template <class T>
struct batch_statistics_of_sums {
  std::size_t features;
  T* statistics;
  const double* sums;
  CAIRN_DEVICE void operator()(std::size_t j) const {
    const mean_and_variance<T> found(0, sums[j], sums[features + j], share_of(sums[2 * features]));
    statistics[j] = found.mean;
    statistics[features + j] = found.variance;
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void batch_norm_evaluate(cuda::queue& queue, std::size_t rows, std::size_t features, double eps, T* output, const T* input,
                         const accumulated<T>* mean, const accumulated<T>* variance, const T* weight, const T* bias,
                         activation then = activation::none) {
  constexpr const char* op = "batch_norm_evaluate";
  const detail::of_channels<T> of(queue, op, features);
  detail::launch_each(queue, op, features, detail::batch_factors<T>{eps, of, variance, weight, bias});
  detail::for_each_of_channels(queue, op, rows, features, detail::center_scale_then<T>{then == activation::relu}, output,
                               std::array{input}, std::array<const accumulated<T>*, 3>{mean, of.factor, of.widened_bias(bias)});
}

template <detail::floating_element T>
void batch_norm_forward(cuda::queue& queue, std::size_t rows, std::size_t features, double eps, T* output,
                        accumulated<T>* statistics, const T* input, const T* weight, const T* bias,
                        activation then = activation::none, const std::type_identity_t<running_statistics<T>>& moved = {}) {
  constexpr const char* op = "batch_norm_forward";
  const detail::of_channels<T> of(queue, op, features);
  detail::sum_columns_then(queue, op, rows, features,
                           detail::batch_statistics<T>{{rows, features, input}, eps, statistics, of, weight, bias, moved});
  detail::for_each_of_channels(queue, op, rows, features, detail::center_scale_then<T>{then == activation::relu}, output,
                               std::array{input},
                               std::array<const accumulated<T>*, 3>{statistics, of.factor, of.widened_bias(bias)});
}

template <std::floating_point T>
void batch_norm_update(cuda::queue& queue, std::size_t rows, std::size_t features, double momentum, T* running_mean,
                       T* running_variance, const T* statistics) {
  detail::launch_each(queue, "batch_norm_update", features,
                      detail::batch_move_statistics<T>{
                          {features, momentum, running_mean, running_variance, statistics}, nullptr, static_cast<double>(rows)});
}
template <std::floating_point T>
void batch_norm_update(cuda::queue& queue, std::size_t features, double momentum, T* running_mean, T* running_variance,
                       const T* statistics, const double* rows) {
  detail::launch_each(
      queue, "batch_norm_update", features,
      detail::batch_move_statistics<T>{{features, momentum, running_mean, running_variance, statistics}, rows, 0});
}

template <detail::floating_element T>
void batch_norm_gradient_sums(cuda::queue& queue, std::size_t rows, std::size_t features, double eps, double* sums,
                              accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient,
                              const T* input, const accumulated<T>* statistics) {
  constexpr const char* op = "batch_norm_gradient_sums";
  const detail::batch_derivative<T> nothing{features, eps, statistics, nullptr, {queue, op, features}};
  detail::sum_columns_then(queue, op, rows, features,
                           detail::batch_gradients<T>{rows, features, eps, weight_gradient, bias_gradient, sums, output_gradient,
                                                      input, statistics, nothing});
}

template <detail::floating_element T>
void batch_norm_input_gradient(cuda::queue& queue, std::size_t rows, std::size_t features, double eps, T* input_gradient,
                               const T* output_gradient, const T* input, const accumulated<T>* statistics, const T* weight,
                               const double* sums, activation before = activation::none) {
  constexpr const char* op = "batch_norm_input_gradient";
  const detail::batch_derivative<T> then{features, eps, statistics, weight, {queue, op, features}};
  detail::launch_each(queue, op, features, detail::batch_derivative_of_sums<T>{then, sums});
  detail::for_each_of_channels(queue, op, rows, features, detail::batch_norm_derivative_then{before == activation::relu},
                               input_gradient, std::array{output_gradient, input},
                               std::array<const accumulated<T>*, 4>{statistics, then.to.factor, then.to.shift, then.to.slope});
}

template <detail::floating_element T>
void batch_norm_backward(cuda::queue& queue, std::size_t rows, std::size_t features, double eps, T* input_gradient,
                         accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight, activation before = activation::none) {
  constexpr const char* op = "batch_norm_backward";
  const detail::batch_derivative<T> then{features, eps, statistics, weight, {queue, op, features}};
  detail::sum_columns_then(queue, op, rows, features,
                           detail::batch_gradients<T>{rows, features, eps, weight_gradient, bias_gradient, nullptr,
                                                      output_gradient, input, statistics, then});
  if (input_gradient != nullptr)
    detail::for_each_of_channels(queue, op, rows, features, detail::batch_norm_derivative_then{before == activation::relu},
                                 input_gradient, std::array{output_gradient, input},
                                 std::array<const accumulated<T>*, 4>{statistics, then.to.factor, then.to.shift, then.to.slope});
}

template <detail::floating_element T>
void batch_norm_sums(cuda::queue& queue, std::size_t rows, std::size_t features, double* sums, const T* input) {
  detail::sum_columns_then(queue, "batch_norm_sums", rows, features, detail::batch_sums<T>{{rows, features, input}, sums});
}

template <std::floating_point T>
void batch_norm_statistics(cuda::queue& queue, std::size_t features, T* statistics, const double* sums) {
  detail::launch_each(queue, "batch_norm_statistics", features, detail::batch_statistics_of_sums<T>{features, statistics, sums});
}

} // namespace cairn::ops
