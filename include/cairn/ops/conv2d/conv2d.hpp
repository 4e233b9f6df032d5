// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/matmul/matmul.hpp>
#include <cairn/ops/matmul/packed_weight.hpp>
#include <cairn/ops/queue_without_this_op.hpp>
#include <cairn/ops/window.hpp>

namespace cairn::ops {

// A convolution, without the batch. Group g computes the output channels [g out / groups, (g + 1) out / groups) from the input
// channels [g in / groups, (g + 1) in / groups).
struct convolution {
  window over{};
  std::size_t in_channels = 0, out_channels = 0, groups = 1;

  CAIRN_HOST_DEVICE constexpr std::size_t group_in() const { return in_channels / groups; }
  CAIRN_HOST_DEVICE constexpr std::size_t group_out() const { return out_channels / groups; }
  // The number of products in one element of the output.
  constexpr std::size_t depth() const { return over.taps() * group_in(); }
  // Whether every output pixel reads only the input pixel at its own place: then this is a product of matrices.
  constexpr bool is_product() const {
    return over.taps() == 1 && groups == 1 && over.y.stride == 1 && over.x.stride == 1 && over.y.padding == 0 &&
           over.x.padding == 0;
  }

  bool operator==(const convolution&) const = default;
};

// Images are laid out as (batch, height, width, channels), the weight as (out, kernel height, kernel width, in / groups).
//
//   y(n, p, q, o) = sum over i, j, c of x(n, p s + i d - padding, q s + j d - padding, c) w(o, i, j, c)
//
// as torch.nn.functional.conv2d; outside the image x is 0. The output is a matrix with one row per pixel, and rows may have any
// stride. `then` is applied to it as by matmul; its addend and mask are like the output.
//
// A NaN or an infinity of x reaches the outputs that read it and no others. One in the weight reaches those that multiply it, and
// may reach others of its channel at the border: a kernel either multiplies it with the 0 outside the image or skips it.
//
// An element's bits depend on its operands and on its pixel's place in the image, not on the other images, the threads or what
// `then` does; on a GPU, where a convolution of single pixels is a product, they depend on the number of images as matmul's do.
template <class T>
void conv2d_forward(detail::queue_without_this_op, const convolution& how, std::size_t samples, matrix<T> output,
                    const std::type_identity_t<T>* input, const std::type_identity_t<T>* weight,
                    const std::type_identity_t<epilogue<T>>& then) = delete;

// dx(n, y, x, c) = sum over the outputs (p, q) and taps (i, j) that read this pixel, and o, of dy(n, p, q, o) w(o, i, j, c).
// `then` has an addend or a mask like the input gradient, whose rows have no gap, or nothing. NaN and infinities spread as in
// forward: those of dy to the inputs that it was computed from, those of the weight perhaps to others at the border.
template <class T>
void conv2d_input_gradient(detail::queue_without_this_op, const convolution& how, std::size_t samples, T* input_gradient,
                           std::type_identity_t<matrix<const T>> output_gradient, const std::type_identity_t<T>* weight,
                           const std::type_identity_t<epilogue<T>>& then) = delete;

// dw(o, i, j, c) = sum over n, p, q of dy(n, p, q, o) x(n, p s + i d - padding, q s + j d - padding, c), and
// db(o) = sum over n, p, q of dy(n, p, q, o) where bias_gradient is not null.
// Images are added in their order, and in each of them the rows of the output, so the bits do not depend on the threads; on a
// GPU the pixels of all images are cut into parts, which depend on their number and on the convolution alone. A
// product of two pixels counts only where both exist: a NaN or an infinity reaches the weights of those taps that read it, or
// write it, and no others.
template <class T>
void conv2d_weight_gradient(detail::queue_without_this_op, const convolution& how, std::size_t samples,
                            std::type_identity_t<accumulated<T>>* weight_gradient,
                            std::type_identity_t<accumulated<T>>* bias_gradient, matrix<const T> output_gradient,
                            const std::type_identity_t<T>* input) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept conv2d_runs_on = requires(Queue& queue, std::size_t n, T* y, const T* x, accumulated<T>* sum, matrix<T> to,
                                  matrix<const T> from, const convolution& how, const epilogue<T>& then) {
  conv2d_forward(queue, how, n, to, x, x, then);
  conv2d_input_gradient(queue, how, n, y, from, x, then);
  conv2d_weight_gradient(queue, how, n, sum, sum, from, x);
};

// Whether its forward can read packed weights too.
template <class Queue, class T>
concept convolves_by_packed =
    std::floating_point<T> &&
    requires(Queue& queue, std::size_t n, matrix<T> to, const T* x, packed_weight<T> packed, const convolution& how,
             const epilogue<T>& then) { conv2d_forward(queue, how, n, to, x, x, packed, then); };

} // namespace cairn::detail
