// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// Batch normalisation in two steps: the statistics of a feature map are computed once, when it is made, and every norm that
// reads it shares them. `statistics` is (channels, 2): the mean of a channel over all rows, then its variance (divided by
// rows). The statistics of the first channels are thus the first elements. The map is a matrix of any stride, one row per
// pixel.
//
// Each norm yields the derivatives by these statistics, which are added up over all norms: `gradient` is (channels, 2) too. The
// layer that made the map adds their share to the gradient of the map once.

// The order of the sums depends on the number of rows only. With no rows the statistics are 0.
template <class T>
void channel_statistics(detail::queue_without_this_op, matrix<const T> x,
                        std::type_identity_t<accumulated<T>>* statistics) = delete;

// dx = dy + dmean / rows + dvariance 2 (x - mean) / rows. dx may be dy; a dy without data counts as zero.
template <class T>
void channel_statistics_backward(detail::queue_without_this_op, matrix<T> dx, std::type_identity_t<matrix<const T>> dy,
                                 std::type_identity_t<matrix<const T>> x, const std::type_identity_t<accumulated<T>>* statistics,
                                 const std::type_identity_t<accumulated<T>>* gradient) = delete;

// running = (1 - momentum) running + momentum s as in batch_norm_update, for statistics of this layout. T is their type.
template <class T>
void channel_statistics_update(detail::queue_without_this_op, std::size_t rows, std::size_t channels, double momentum,
                               T* running_mean, T* running_variance, const T* statistics) = delete;

// The norm of each channel: y = (x - mean) weight / sqrt(variance + eps) + bias. The statistics of channel c are mean[step c] and
// variance[step c].
template <class T>
struct channel_norm {
  const accumulated<T>* mean = nullptr;
  const accumulated<T>* variance = nullptr;
  std::size_t step = 1;
  double eps = 0;
  const T* weight = nullptr;
  const T* bias = nullptr;

  // Norms by the statistics of a batch, and by running ones.
  static channel_norm of_batch(const accumulated<T>* statistics, double eps, const T* weight, const T* bias) {
    return {statistics, statistics + 1, 2, eps, weight, bias};
  }
  static channel_norm of_running(const accumulated<T>* mean, const accumulated<T>* variance, double eps, const T* weight,
                                 const T* bias) {
    return {mean, variance, 1, eps, weight, bias};
  }
};

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept channel_statistics_runs_on =
    requires(Queue& queue, std::size_t n, matrix<T> y, matrix<const T> x, accumulated<T>* sum, const accumulated<T>* sums) {
      channel_statistics(queue, x, sum);
      channel_statistics_backward(queue, y, x, x, sums, sums);
      channel_statistics_update(queue, n, n, 0.1, sum, sum, sums);
    };

} // namespace cairn::detail
