// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>
#include <cairn/ops/window.hpp>

namespace cairn::ops {

// The divisor of a mean. `window`: all pixels of its window, padding included, as torch's count_include_pad=True. `pixels`:
// only those inside the image. `adaptive`: windows cut the image into as many parts as there are outputs, which may overlap by
// a pixel if that number does not divide the image (torch.nn.AdaptiveAvgPool2d); kernel, stride and padding are ignored.
enum class mean_of : unsigned char { window, pixels, adaptive };

// The inputs [begin, end) of one axis that an output is the mean of, and the divisor.
struct mean_range {
  std::size_t begin = 0, end = 0, divisor = 0;
};
CAIRN_HOST_DEVICE constexpr mean_range range_of(const window_axis& a, mean_of which, std::size_t output) {
  if (which == mean_of::adaptive) {
    const std::size_t begin = output * a.in / a.out, end = ((output + 1) * a.in + a.out - 1) / a.out;
    return {begin, end, end - begin};
  }
  // Places are counted from the start of the padding. A window of ceil_mode ends with the padding.
  const std::size_t first = output * a.stride, padded = a.in + 2 * a.padding;
  const std::size_t last = first + a.kernel < padded ? first + a.kernel : padded;
  const std::size_t begin = first > a.padding ? first - a.padding : 0;
  const std::size_t end = last < a.padding ? 0 : last - a.padding < a.in ? last - a.padding : a.in;
  return {begin, end, which == mean_of::window ? last - first : end - begin};
}

// A range of outputs [begin, end) of an axis that includes all those whose windows contain this input.
struct output_range {
  std::size_t begin = 0, end = 0;
};
CAIRN_HOST_DEVICE constexpr output_range outputs_having(const window_axis& a, mean_of which, std::size_t input) {
  if (which == mean_of::adaptive) return {input * a.out / a.in, ((input + 1) * a.out + a.in - 1) / a.in};
  const std::size_t place = input + a.padding, end = place / a.stride + 1;
  return {place < a.kernel ? 0 : (place - a.kernel) / a.stride + 1, end < a.out ? end : a.out};
}

// Images are stored as (batch, height, width, channels). Every element of the output is the mean of its window, channel by
// channel; padding adds 0. The same as torch.nn.functional.avg_pool2d and adaptive_avg_pool2d. A window is added up row by row,
// in chains of 16 pixels in the type of the elements; the chains are added in double. Backward adds up the windows of an input
// likewise.
template <class T>
void avg_pool2d_forward(detail::queue_without_this_op, const window& over, mean_of which, std::size_t samples,
                        std::size_t channels, T* output, const T* input) = delete;

// dx of an input is the sum of dy / divisor over the windows that contain it, in their order.
template <class T>
void avg_pool2d_backward(detail::queue_without_this_op, const window& over, mean_of which, std::size_t samples,
                         std::size_t channels, T* input_gradient, const T* output_gradient) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept avg_pool2d_runs_on = requires(Queue& queue, std::size_t n, T* y, const T* x, const window& over) {
  avg_pool2d_forward(queue, over, mean_of::window, n, n, y, x);
  avg_pool2d_backward(queue, over, mean_of::window, n, n, y, x);
};

} // namespace cairn::detail
