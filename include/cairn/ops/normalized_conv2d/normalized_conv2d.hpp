// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/channel_statistics/channel_statistics.hpp>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

// A norm of the channels, a ReLU and a convolution without a bias: y = conv2d(relu(norm(x)), weight), for images stored as in
// conv2d.hpp. The normalised map is made while the convolution copies its patches, and is never in memory as a whole.
//
// The stride is 1 in both directions, and there is one group.

namespace cairn::detail {

// Images are taken in stretches of up to this many pixels, at least one image: their gradients stay in a second-level cache.
inline constexpr std::size_t norm_stretch_pixels = 2048;
constexpr std::size_t images_of_stretch(std::size_t pixels) {
  return std::max<std::size_t>(1, norm_stretch_pixels / std::max<std::size_t>(1, pixels));
}

} // namespace cairn::detail

namespace cairn::ops {

// `statistics`, if not null, receives those of y (channel_statistics.hpp). `scales` has 3 x in elements, `partial` has 2 x out
// elements for each sample.
template <class T>
void normalized_conv2d_forward(detail::queue_without_this_op, const convolution& how, std::size_t samples, matrix<T> y,
                               std::type_identity_t<accumulated<T>>* statistics, const std::type_identity_t<T>* x,
                               const std::type_identity_t<channel_norm<T>>& norm, const std::type_identity_t<T>* weight,
                               std::type_identity_t<accumulated<T>>* scales,
                               std::type_identity_t<accumulated<T>>* partial) = delete;

// The gradients that backward computes. Those that are null are not wanted.
template <class T>
struct normalized_conv2d_gradients {
  T* x = nullptr;                        // without the part through its statistics
  accumulated<T>* statistics = nullptr;  // (in, 2): of the mean and the variance that the norm takes
  accumulated<T>* norm_weight = nullptr; // (in)
  accumulated<T>* norm_bias = nullptr;
  accumulated<T>* weight = nullptr; // of the shape of the weight
};
// `partial` has 2 x in elements for each sample.
template <class T>
void normalized_conv2d_backward(detail::queue_without_this_op, const convolution& how, std::size_t samples,
                                const normalized_conv2d_gradients<T>& gradients, std::type_identity_t<matrix<const T>> y_gradient,
                                const std::type_identity_t<T>* x, const std::type_identity_t<channel_norm<T>>& norm,
                                const std::type_identity_t<T>* weight, std::type_identity_t<accumulated<T>>* scales,
                                std::type_identity_t<accumulated<T>>* partial) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept normalized_conv2d_runs_on = requires(Queue& queue, std::size_t n, T* y, const T* x, matrix<T> to, matrix<const T> from,
                                             accumulated<T>* sum, const convolution& how, const channel_norm<T>& norm) {
  normalized_conv2d_forward(queue, how, n, to, sum, x, norm, x, sum, sum);
  normalized_conv2d_backward(queue, how, n, normalized_conv2d_gradients<T>{}, from, x, norm, x, sum, sum);
};

} // namespace cairn::detail
