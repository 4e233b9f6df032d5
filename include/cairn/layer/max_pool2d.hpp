// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/layer.hpp>
#include <cairn/layer/window_options.hpp>
#include <cairn/ops/max_pool2d/max_pool2d.hpp>

namespace cairn::detail {

struct max_pool2d_message {
  template <class Layer>
  static constexpr bool right() {
    static_assert(!Layer::options.has_other,
                  "MaxPool2d: its options are stride<>, padding<>, dilation<>, kernel_width<> and ceil_mode, "
                  "behind the size of the kernel; write MaxPool2d<3, stride<2>, padding<1>>");
    static_assert(Layer::options.twice == 0, "MaxPool2d: an option is given twice; for height and width write stride<2, 1>");
    static_assert(!Layer::options.has_zero, "MaxPool2d: kernel, stride and dilation are at least 1; only padding may be 0");
    static_assert(Layer::options.pads_at_most_half(),
                  "MaxPool2d: there is more padding than half of a window, which may then see nothing "
                  "else; write MaxPool2d<3, padding<1>>");
    return true;
  }
};

} // namespace cairn::detail

namespace cairn {

// The greatest element of every window of an image, channel by channel, as torch.nn.MaxPool2d(Kernel). Windows lie side by side
// if no stride<> is given. Further options, in any order: padding<>, dilation<>, kernel_width<>, ceil_mode.
//
// The first of several equal elements gets the gradient, as in torch. Backward searches for it again in the input, which the
// ReLU before it has usually stored anyway; torch stores an index of 8 bytes for each output.
template <std::size_t Kernel, class... Options>
struct MaxPool2d : detail::max_pool2d_message {
  static constexpr detail::window_options options =
      detail::options_of<Options...>(Kernel,
                                     detail::stride_option | detail::padding_option | detail::dilation_option |
                                         detail::kernel_width_option | detail::ceil_mode_option,
                                     true);
  static constexpr bool options_are_right = options.are_right() && options.pads_at_most_half();

  static constexpr reads backward_reads = reads::input;

  static constexpr bool accepts(const arguments& in) { return options.accepts(in[0]); }
  static constexpr tensor outputs(const arguments& in) {
    const ops::window over = options.on(in[0]);
    return {over.y.out, over.x.out, in[0].last()};
  }
  // Every tap is compared, in both passes, and once more for the gradient.
  static constexpr work flops(const arguments& in) {
    const std::size_t taps = options.over.taps() * outputs(in).size();
    return {taps, 2 * taps, 2 * taps};
  }

  template <class T, detail::max_pool2d_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    max_pool2d_forward(queue, options.on(call.in(0)), call.rows, call.in(0).last(), call.outputs[0], call.inputs[0]);
  }

  template <class T, detail::max_pool2d_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    max_pool2d_backward(queue, options.on(call.in(0)), call.rows, call.in(0).last(), call.input_gradients[0],
                        call.output_gradients[0], call.inputs[0]);
  }
};

} // namespace cairn
