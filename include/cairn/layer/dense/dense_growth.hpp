// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/view.hpp>
#include <cairn/layer/dense/dense_half.hpp>
#include <cairn/ops/normalized_conv2d/normalized_conv2d.hpp>

namespace cairn::detail {

// BatchNorm2d, ReLU and a 3x3 convolution with padding to Growth channels: the new ones. It obeys output_stride. If its
// statistics have a gradient, it overwrites the gradient of its map.
template <std::size_t Growth>
struct dense_growth : dense_half {
  static constexpr bool strided = true;

  static constexpr tensor_list outputs(const arguments& in) { return dense_half::outputs(in[0], Growth); }
  static constexpr tensor_list parameters(const arguments& in) {
    const std::size_t c = in[0].last();
    return {{"norm2.weight", {c}, initial::constant(1)},
            {"norm2.bias", {c}, initial::constant(0)},
            convolution_weight("conv2.weight", Growth, 3, c)};
  }
  static constexpr tensor_list buffers(const arguments& in) {
    return running("norm2.running_mean", "norm2.running_var", in[0].last());
  }
  static constexpr tensor_list workspace(const arguments& in, pass why) {
    const std::size_t c = in[0].last();
    const tensor scales = tensor{3 * c}.once().of(element::accumulated);
    if (why != pass::backward) return {scales, tensor{2 * Growth}.of(element::accumulated)};
    return {scales, tensor{2 * c}.of(element::accumulated)};
  }
  static constexpr work flops(const arguments& in) {
    const std::size_t pixels = pixels_of(in[0]), products = 18 * in[0].size() * Growth, norm = 4 * in[0].size();
    return {products + norm + 4 * Growth * pixels, 2 * products + 3 * norm + 4 * Growth * pixels, products + 2 * norm};
  }

  template <class Queue, class T>
    requires normalized_conv2d_runs_on<Queue, T> && channel_statistics_runs_on<Queue, T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const convolution how = on(call.in(0));
    const std::size_t rows = call.rows * how.over.outputs();
    const channel_norm<T> norm = norm_of(queue, call, rows, how.in_channels);
    normalized_conv2d_forward(queue, how, call.rows, rows_of(call.outputs[0], rows, Growth, call.output_stride),
                              call.outputs.sums(1), call.inputs[0], norm, call.parameters[2], call.workspace.sums(0),
                              call.workspace.sums(1));
  }
  template <class Queue, class T>
    requires normalized_conv2d_runs_on<Queue, T> && channel_statistics_runs_on<Queue, T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    const convolution how = on(call.in(0));
    const std::size_t rows = call.rows * how.over.outputs();
    const std::size_t apart = strides_of(call).output_gradient, stride = apart != 0 ? apart : call.output_stride;
    matrix<const T> gradient = rows_of(call.output_gradients[0], rows, Growth, stride);
    if (call.output_gradients.sums(1) != nullptr) {
      // The block has this gradient in memory of its own, as others have added to it, and nothing reads it afterwards.
      const matrix<T> whole{const_cast<T*>(gradient.data), rows, Growth, gradient.stride};
      channel_statistics_backward(queue, whole, gradient, rows_of(call.outputs[0], rows, Growth, call.output_stride),
                                  call.outputs.sums(1), call.output_gradients.sums(1));
      gradient = whole;
    }
    const normalized_conv2d_gradients<T> to{call.input_gradients[0], call.input_gradients.sums(1), call.gradients[0],
                                            call.gradients[1], call.gradients[2]};
    normalized_conv2d_backward(queue, how, call.rows, to, gradient, call.inputs[0], norm_of(call), call.parameters[2],
                               call.workspace.sums(0), call.workspace.sums(1));
  }

private:
  static constexpr convolution on(const tensor& images) {
    const auto axis = [](std::size_t extent) { return window_axis{extent, extent, 3, 1, 1, 1}; };
    return {{axis(images[0]), axis(images[1])}, images.last(), Growth, 1};
  }
};

} // namespace cairn::detail
