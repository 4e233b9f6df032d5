// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/constant_sqrt.hpp>
#include <cairn/core/view.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/layer/window_options.hpp>
#include <cairn/ops/conv2d/conv2d.hpp>

namespace cairn::detail {

struct conv2d_message {
  template <class Layer>
  static constexpr bool right() {
    static_assert(Layer::in_channels > 0 && Layer::out_channels > 0,
                  "Conv2d: it needs at least one channel in and out; write Conv2d<In, Out, Kernel>");
    static_assert(!Layer::options.has_other,
                  "Conv2d: its options are stride<>, padding<>, dilation<>, kernel_width<>, groups<> and "
                  "no_bias, behind the size of the kernel; write Conv2d<In, Out, 3, stride<2>, padding<1>>");
    static_assert(Layer::options.twice == 0, "Conv2d: an option is given twice; for height and width write stride<2, 1>");
    static_assert(!Layer::options.has_zero, "Conv2d: kernel, stride, dilation and groups are at least 1; only padding may be 0");
    static_assert(Layer::in_channels % Layer::options.groups == 0 && Layer::out_channels % Layer::options.groups == 0,
                  "Conv2d: groups<> divides the channels, and must be a divisor of In and of Out");
    return true;
  }
};

} // namespace cairn::detail

namespace cairn {

// The convolution of images with In channels to images with Out channels, as torch.nn.Conv2d(In, Out, Kernel). Images lie as
// (height, width, channels). Options, in any order: stride<2>, padding<1>, dilation<2>, each with a second number if the width
// is treated differently; kernel_width<5>, groups<4>, no_bias.
//
// The weight lies as (Out, height, width, In / groups); files have it as torch does, as (Out, In / groups, height, width). Weight
// and bias start uniform in +-1 / sqrt(height x width x In / groups), which is torch's kaiming_uniform with a = sqrt 5.
//
// A ReLU after it, a sum with another branch, and the derivative of a ReLU before it are done on numbers still in registers.
template <std::size_t In, std::size_t Out, std::size_t Kernel, class... Options>
struct Conv2d : detail::conv2d_message {
  static constexpr std::size_t in_channels = In, out_channels = Out;
  static constexpr detail::window_options options =
      detail::options_of<Options...>(Kernel,
                                     detail::stride_option | detail::padding_option | detail::dilation_option |
                                         detail::kernel_width_option | detail::groups_option | detail::no_bias_option,
                                     false);
  static constexpr bool options_are_right =
      options.are_right() && In > 0 && Out > 0 && In % options.groups == 0 && Out % options.groups == 0;

  static constexpr reads backward_reads = reads::input;
  static constexpr bool input_gradient_on_input = true; // the gradient of the weight is made first
  static constexpr bool fuses = true, adds = true, strided = true, skips_gradients = true, packs_weight = options.groups == 1;

  static constexpr bool accepts(const arguments& in) { return options.accepts(in[0]) && in[0].last() == In; }
  static constexpr tensor outputs(const arguments& in) {
    const ops::window over = options.on(in[0]);
    return {over.y.out, over.x.out, Out};
  }

  static constexpr tensor_list parameters(const arguments&) {
    const initial start = initial::uniform(1 / detail::constant_sqrt(static_cast<double>(depth)));
    const shape extents{Out, options.over.y.kernel, options.over.x.kernel, group_in};
    const tensor weight = tensor("weight", extents, start).with_channels_last();
    if constexpr (has_bias) return {weight, {"bias", {Out}, start}};
    else return weight;
  }

  // Every tap of every output pixel is a product and a sum, also in the padding. Backward makes two such convolutions.
  static constexpr work flops(const arguments& in) {
    const std::size_t pixels = options.on(in[0]).outputs();
    const std::size_t products = 2 * depth * Out * pixels, sums = has_bias ? Out * pixels : 0;
    return {products + sums, 2 * products + sums, products};
  }

  template <class T, detail::conv2d_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const ops::convolution how = on(call.in(0));
    const std::size_t pixels = call.rows * how.over.outputs();
    ops::epilogue<T> then{};
    then.then = call.then;
    if constexpr (has_bias) then.bias = call.parameters[1];
    if (call.addend != nullptr) then.addend = {call.addend, pixels, Out};
    const ops::matrix<T> output{call.outputs[0], pixels, Out, call.output_stride == 0 ? Out : call.output_stride};
    if constexpr (packs_weight && detail::convolves_by_packed<Queue, T>)
      conv2d_forward(queue, how, call.rows, output, call.inputs[0], call.parameters[0], call.packed, then);
    else conv2d_forward(queue, how, call.rows, output, call.inputs[0], call.parameters[0], then);
  }

  template <class T, detail::conv2d_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    const ops::convolution how = on(call.in(0));
    const std::size_t stride = call.output_stride == 0 ? Out : call.output_stride;
    const ops::matrix<const T> output_gradient{call.output_gradients[0], call.rows * how.over.outputs(), Out, stride};
    if (call.gradients) {
      accumulated<T>* bias = nullptr;
      if constexpr (has_bias) bias = call.gradients[1];
      conv2d_weight_gradient(queue, how, call.rows, call.gradients[0], bias, output_gradient, call.inputs[0]);
    }
    if (!call.input_gradients) return;

    const std::size_t pixels = call.rows * how.over.inputs();
    ops::epilogue<T> then{};
    if (call.addend != nullptr) then.addend = {call.addend, pixels, In};
    if (call.before == ops::activation::relu) then.mask = {call.inputs[0], pixels, In};
    conv2d_input_gradient(queue, how, call.rows, call.input_gradients[0], output_gradient, call.parameters[0], then);
  }

private:
  static constexpr bool has_bias = !options.has(detail::no_bias_option);
  // After an error, compilation goes on with 1.
  static constexpr std::size_t groups = In % options.groups == 0 && Out % options.groups == 0 ? options.groups : 1;
  static constexpr std::size_t group_in = In / groups, depth = options.over.taps() * group_in;

  static constexpr ops::convolution on(const tensor& images) { return {options.on(images), In, Out, groups}; }
};

} // namespace cairn
