// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/activation.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// x and y are (rows, features), m and s^2 the mean and the variance of a feature over the rows (divided by rows), and
// r = 1 / sqrt(s^2 + eps), as in torch.nn.BatchNorm1d (Ioffe, Szegedy: Batch normalization. arXiv:1502.03167). Images
// stored as (batch, height, width, channels) are batch x height x width rows.
//
// `statistics` is (2, features): the means of the batch, then its variances. Sums over rows are taken in double, one
// row after another, of distances from the first row, so that one pass over x loses nothing.

// Running statistics, (features) each, which a forward pass moves as batch_norm_update() does. If they are null nothing moves.
template <class T>
struct running_statistics {
  double momentum = 0;
  accumulated<T>*mean = nullptr, *variance = nullptr;
};

// y = then((x - m) r w + b), and the statistics. The output may lie on the input. A single row has no variance, so its y is b;
// with no rows the statistics are 0.
template <class T>
void batch_norm_forward(detail::queue_without_this_op, std::size_t rows, std::size_t features, double eps, T* output,
                        accumulated<T>* statistics, const T* input, const T* weight, const T* bias,
                        activation then = activation::none,
                        const std::type_identity_t<running_statistics<T>>& moved = {}) = delete;

// The same with a given mean and variance, such as running statistics. The output may lie on the input.
template <class T>
void batch_norm_evaluate(detail::queue_without_this_op, std::size_t rows, std::size_t features, double eps, T* output,
                         const T* input, const accumulated<T>* mean, const accumulated<T>* variance, const T* weight,
                         const T* bias, activation then = activation::none) = delete;

// running = (1 - momentum) running + momentum s, for mean and variance; s^2 is divided by rows - 1 here, as in torch. A single
// row leaves the running variance as it is (torch refuses it); no rows leave both. T is the type of the statistics.
template <class T>
void batch_norm_update(detail::queue_without_this_op, std::size_t rows, std::size_t features, double momentum, T* running_mean,
                       T* running_variance, const T* statistics) = delete;

// dw = sum over rows of dy h,  db = sum over rows of dy,                        with h = (x - m) r
// dx = w r (dy - mean(dy) - h mean(dy h)),  the means over the rows
//
// The input gradient may lie on the output gradient. A gradient that is null is not computed. `before` is an activation whose
// output is x: dx is multiplied by its derivative.
template <class T>
void batch_norm_backward(detail::queue_without_this_op, std::size_t rows, std::size_t features, double eps, T* input_gradient,
                         accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight, activation before = activation::none) = delete;

// The same in parts, for a batch whose rows are on several ranks: between two parts, doubles are summed over the ranks.
//
// sums = (sum over rows of x, sum of x^2, rows), features + features + 1 numbers. A double has twice the digits of a float, so
// x^2 is exact, and the cancellation in a variance made of such sums loses no more than rounding the inputs to float did
// before. A network of doubles loses more: a mean 10^k deviations away from 0 costs 2 k of 16 digits of the variance.
template <class T>
void batch_norm_sums(detail::queue_without_this_op, std::size_t rows, std::size_t features, double* sums,
                     const T* input) = delete;

// Statistics from such sums. T is the type of the statistics.
template <class T>
void batch_norm_statistics(detail::queue_without_this_op, std::size_t features, T* statistics, const double* sums) = delete;

// batch_norm_update() with the number of rows in the device's memory, as in the sums.
template <class T>
void batch_norm_update(detail::queue_without_this_op, std::size_t features, double momentum, T* running_mean, T* running_variance,
                       const T* statistics, const double* rows) = delete;

// sums = (sum over rows of dy, sum of dy (x - m)), features + features numbers, and the gradients of the parameters from these
// rows; a gradient that is null is not computed.
template <class T>
void batch_norm_gradient_sums(detail::queue_without_this_op, std::size_t rows, std::size_t features, double eps, double* sums,
                              accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient,
                              const T* input, const accumulated<T>* statistics) = delete;

// dx of these rows, from such sums over all rows, followed by the number of all rows. The input gradient may lie on the output
// gradient.
template <class T>
void batch_norm_input_gradient(detail::queue_without_this_op, std::size_t rows, std::size_t features, double eps,
                               T* input_gradient, const T* output_gradient, const T* input, const accumulated<T>* statistics,
                               const T* weight, const double* sums, activation before = activation::none) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept batch_norm_runs_on =
    requires(Queue& queue, std::size_t n, T* y, const T* x, accumulated<T>* sum, const accumulated<T>* sums, double* of_ranks) {
      batch_norm_forward(queue, n, n, 1e-5, y, sum, x, x, x, activation::relu, running_statistics<T>{});
      batch_norm_update(queue, n, n, 0.1, sum, sum, sums);
      batch_norm_evaluate(queue, n, n, 1e-5, y, x, sums, sums, x, x, activation::relu);
      batch_norm_backward(queue, n, n, 1e-5, y, sum, sum, x, x, sums, x, activation::relu);
      batch_norm_sums(queue, n, n, of_ranks, x);
      batch_norm_statistics(queue, n, sum, of_ranks);
      batch_norm_update(queue, n, 0.1, sum, sum, sums, of_ranks);
      batch_norm_gradient_sums(queue, n, n, 1e-5, of_ranks, sum, sum, x, x, sums);
      batch_norm_input_gradient(queue, n, n, 1e-5, y, x, x, sums, x, of_ranks, activation::relu);
    };

} // namespace cairn::detail
