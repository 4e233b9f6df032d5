// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/layer.hpp>
#include <cairn/layer/window_options.hpp>
#include <cairn/ops/avg_pool2d/avg_pool2d.hpp>

namespace cairn::detail {

struct avg_pool2d_message {
  template <class Layer>
  static constexpr bool right() {
    static_assert(!Layer::options.has_other,
                  "AvgPool2d: its options are stride<>, padding<>, kernel_width<>, ceil_mode and "
                  "no_count_include_pad, behind the size of the kernel; write AvgPool2d<3, stride<2>>");
    static_assert(Layer::options.twice == 0, "AvgPool2d: an option is given twice; for height and width write stride<2, 1>");
    static_assert(!Layer::options.has_zero, "AvgPool2d: kernel and stride are at least 1; only padding may be 0");
    static_assert(Layer::options.pads_at_most_half(),
                  "AvgPool2d: there is more padding than half of a window, which may then see nothing "
                  "else; write AvgPool2d<3, padding<1>>");
    return true;
  }
};

} // namespace cairn::detail

namespace cairn {

// The mean of every window of an image, channel by channel, as torch.nn.AvgPool2d(Kernel). Windows lie side by side if no
// stride<> is given. Further options, in any order: padding<>, kernel_width<>, ceil_mode, no_count_include_pad. Padding
// counts as zeros unless no_count_include_pad is given. torch's divisor_override is left out.
template <std::size_t Kernel, class... Options>
struct AvgPool2d : detail::avg_pool2d_message {
  static constexpr detail::window_options options =
      detail::options_of<Options...>(Kernel,
                                     detail::stride_option | detail::padding_option | detail::kernel_width_option |
                                         detail::ceil_mode_option | detail::no_count_include_pad_option,
                                     true);
  static constexpr bool options_are_right = options.are_right() && options.pads_at_most_half();

  static constexpr reads backward_reads = reads::nothing;

  static constexpr bool accepts(const arguments& in) { return options.accepts(in[0]); }
  static constexpr tensor outputs(const arguments& in) {
    const ops::window over = options.on(in[0]);
    return {over.y.out, over.x.out, in[0].last()};
  }
  // A sum for every tap, and a factor for each output.
  static constexpr work flops(const arguments& in) {
    const std::size_t made = outputs(in).size(), taps = options.over.taps() * made;
    return {taps + made, 2 * taps, 2 * taps};
  }

  template <class T, detail::avg_pool2d_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    avg_pool2d_forward(queue, options.on(call.in(0)), which, call.rows, call.in(0).last(), call.outputs[0], call.inputs[0]);
  }

  template <class T, detail::avg_pool2d_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    avg_pool2d_backward(queue, options.on(call.in(0)), which, call.rows, call.in(0).last(), call.input_gradients[0],
                        call.output_gradients[0]);
  }

private:
  static constexpr ops::mean_of which =
      options.has(detail::no_count_include_pad_option) ? ops::mean_of::pixels : ops::mean_of::window;
};

} // namespace cairn
