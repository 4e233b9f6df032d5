// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// The shape of a group norm: each sample is `pixels` rows of `channels`, and each group of neighbouring channels of a sample
// has a mean m and a variance s^2 over its pixels and channels (divided by their number).
struct channel_groups {
  std::size_t samples = 0, pixels = 0, channels = 0, groups = 1;

  CAIRN_HOST_DEVICE constexpr std::size_t each() const { return channels / groups; }
};

// y = (x - m) r w + b with r = 1 / sqrt(s^2 + eps), weight and bias by channel, as torch.nn.functional.group_norm (Wu, He:
// Group normalization. arXiv:1803.08494). `statistics` is (samples, groups, 2), m and r. The output may lie on the input. On
// a cpu, means and variances of channels are summed in double, from distances to the channel's first pixel, and joined channel by
// channel.
template <class T>
void group_norm_forward(detail::queue_without_this_op, const channel_groups& of, double eps, T* output,
                        accumulated<T>* statistics, const T* input, const T* weight, const T* bias) = delete;

// dw = sum over samples and pixels of dy h,  db = the same of dy,             with h = (x - m) r
// dx = r (g - mean(g) - h mean(g h)),  the means over a group of a sample,    with g = dy w
//
// The input gradient may lie on the output gradient. A gradient that is null is not computed.
template <class T>
void group_norm_backward(detail::queue_without_this_op, const channel_groups& of, T* input_gradient,
                         accumulated<T>* weight_gradient, accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept group_norm_runs_on = requires(Queue& queue, T* y, const T* x, accumulated<T>* sum, const accumulated<T>* sums) {
  group_norm_forward(queue, channel_groups{}, 1e-5, y, sum, x, x, x);
  group_norm_backward(queue, channel_groups{}, y, sum, sum, x, x, sums, x);
};

} // namespace cairn::detail
