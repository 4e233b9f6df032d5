// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

// x and y are (rows, features), m and s^2 the mean and the variance of a feature over the rows (divided by rows), and
// r = 1 / sqrt(s^2 + eps), as in torch.nn.BatchNorm1d (Ioffe, Szegedy: Batch normalization. arXiv:1502.03167). Images
// that lie as (batch, height, width, channels) are batch x height x width rows.
//
// `statistics` is (2, features): the means of the batch, then its variances. Sums over rows are taken in double, one
// row after another, of distances from the first row, so that one pass over x loses nothing.

// y = (x - m) r w + b, and the statistics. The output may lie on the input. One row has no variance, so its y is b; of
// no rows the statistics are 0.
template <class T>
void batch_norm_forward(detail::queue_without_this_op, std::size_t rows, std::size_t features, double eps, T* output,
                        accumulated<T>* statistics, const T* input, const T* weight, const T* bias) = delete;

// The same of a mean and a variance that are given, which is what running statistics are for. The output may lie on the
// input.
template <class T>
void batch_norm_evaluate(detail::queue_without_this_op, std::size_t rows, std::size_t features, double eps, T* output,
                         const T* input, const accumulated<T>* mean, const accumulated<T>* variance, const T* weight,
                         const T* bias) = delete;

// running = (1 - momentum) running + momentum s, for mean and variance; s^2 is divided by rows - 1 here, as in torch. One
// row says nothing about a variance and leaves the running one as it is (torch refuses it); no rows leave both. T is the
// type of the statistics.
template <class T>
void batch_norm_update(detail::queue_without_this_op, std::size_t rows, std::size_t features, double momentum, T* running_mean,
                       T* running_variance, const T* statistics) = delete;

// dw = sum over rows of dy h,  db = sum over rows of dy,                        with h = (x - m) r
// dx = w r (dy - mean(dy) - h mean(dy h)),  the means over the rows
//
// The input gradient may lie on the output gradient. A null gradient of the three is not computed.
template <class T>
void batch_norm_backward(detail::queue_without_this_op, std::size_t rows, std::size_t features, double eps, T* input_gradient,
                         accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight) = delete;

} // namespace cairn
