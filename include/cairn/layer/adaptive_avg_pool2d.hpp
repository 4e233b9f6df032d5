// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/layer.hpp>
#include <cairn/ops/avg_pool2d/avg_pool2d.hpp>

namespace cairn::detail {

struct adaptive_avg_pool2d_message {
  template <class Layer>
  static constexpr bool right() {
    static_assert(Layer::options_are_right,
                  "AdaptiveAvgPool2d: it makes an image of at least one pixel; write AdaptiveAvgPool2d<1>");
    return Layer::options_are_right;
  }
};

} // namespace cairn::detail

namespace cairn {

// Reduces an image of any extents to one of Height by Width, channel by channel: each element is the mean of its part. As
// torch.nn.AdaptiveAvgPool2d((Height, Width)). AdaptiveAvgPool2d<1> is the mean of each channel, as (1, 1, channels).
template <std::size_t Height, std::size_t Width = Height>
struct AdaptiveAvgPool2d : detail::adaptive_avg_pool2d_message {
  static constexpr bool options_are_right = Height > 0 && Width > 0;

  static constexpr reads backward_reads = reads::nothing;

  static constexpr bool accepts(const arguments& in) { return in[0].is_real() && in[0].rank() == 3 && in[0].size() > 0; }
  static constexpr tensor outputs(const arguments& in) { return {Height, Width, in[0].last()}; }
  // As if no parts overlapped.
  static constexpr work flops(const arguments& in) {
    return {in[0].size() + outputs(in).size(), 2 * in[0].size(), 2 * in[0].size()};
  }

  template <class T, detail::avg_pool2d_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    avg_pool2d_forward(queue, on(call.in(0)), ops::mean_of::adaptive, call.rows, call.in(0).last(), call.outputs[0],
                       call.inputs[0]);
  }

  template <class T, detail::avg_pool2d_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    avg_pool2d_backward(queue, on(call.in(0)), ops::mean_of::adaptive, call.rows, call.in(0).last(), call.input_gradients[0],
                        call.output_gradients[0]);
  }

private:
  static constexpr ops::window on(const tensor& images) {
    ops::window over;
    over.y.in = images[0], over.x.in = images[1];
    over.y.out = Height, over.x.out = Width;
    return over;
  }
};

} // namespace cairn
