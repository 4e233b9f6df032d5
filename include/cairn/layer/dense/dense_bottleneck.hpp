// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/view.hpp>
#include <cairn/layer/dense/dense_half.hpp>
#include <cairn/ops/normalized_product/normalized_product.hpp>

namespace cairn::detail {

// BatchNorm2d, ReLU and a 1x1 convolution to Width channels. It obeys the strides of its input, of the gradient
// and of the addend.
template <std::size_t Width>
struct dense_bottleneck : dense_half {
  static constexpr bool keeps_statistics_apart = true; // they are those of this rank's own samples
  static constexpr tensor_list outputs(const arguments& in) { return dense_half::outputs(in[0], Width); }
  static constexpr tensor_list parameters(const arguments& in) {
    const std::size_t c = in[0].last();
    return {{"norm1.weight", {c}, initial::constant(1)},
            {"norm1.bias", {c}, initial::constant(0)},
            convolution_weight("conv1.weight", Width, 1, c)};
  }
  static constexpr tensor_list buffers(const arguments& in) {
    return running("norm1.running_mean", "norm1.running_var", in[0].last());
  }
  static constexpr tensor_list workspace(const arguments& in, pass why) {
    const normalized_product_room room = room_of_normalized_product(pixels_of(in[0]), in[0].last(), Width);
    if (why == pass::backward) return {tensor{3 * (in[0].last() + Width)}.once().of(element::accumulated)};
    return {tensor{room.weight}.once().of(element::accumulated), tensor{room.scales}.once().of(element::accumulated),
            tensor{room.partial}.of(element::accumulated)};
  }
  static constexpr work flops(const arguments& in) {
    const std::size_t pixels = pixels_of(in[0]), product = 2 * in[0].last() * Width * pixels, norm = 4 * in[0].size();
    return {product + norm + 4 * Width * pixels, 2 * product + 3 * norm + 4 * Width * pixels, product + 2 * norm};
  }

  template <class Queue, class T>
    requires normalized_product_runs_on<Queue, T> && channel_statistics_runs_on<Queue, T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const std::size_t channels = call.in(0).last(), rows = call.rows * pixels_of(call.in(0));
    const channel_norm<T> norm = norm_of(queue, call, rows, channels);
    const normalized_product_memory<T> memory{call.workspace.sums(0), call.workspace.sums(1), call.workspace.sums(2)};
    normalized_product_forward(queue, matrix<T>{call.outputs[0], rows, Width}, call.outputs.sums(1),
                               rows_of(call.inputs[0], rows, channels, strides_of(call).input), norm, call.parameters[2], memory);
  }
  template <class Queue, class T>
    requires normalized_product_runs_on<Queue, T> && channel_statistics_runs_on<Queue, T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    const std::size_t channels = call.in(0).last(), rows = call.rows * pixels_of(call.in(0));
    normalized_product_gradients<T> to{};
    to.x = rows_of(call.input_gradients[0], rows, channels, strides_of(call).input_gradient);
    if (call.addend != nullptr) to.addend = rows_of(call.addend, rows, channels, strides_of(call).addend);
    to.statistics = call.input_gradients.sums(1);
    to.norm_weight = call.gradients[0];
    to.norm_bias = call.gradients[1];
    to.weight = call.gradients[2];
    normalized_product_backward(queue, to, {call.output_gradients[0], rows, Width}, {call.outputs[0], rows, Width},
                                call.outputs.sums(1), call.output_gradients.sums(1),
                                rows_of(call.inputs[0], rows, channels, strides_of(call).input), norm_of(call),
                                call.parameters[2], call.workspace.sums(0));
  }
};

} // namespace cairn::detail
