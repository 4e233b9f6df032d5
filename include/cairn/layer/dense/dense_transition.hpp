// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/view.hpp>
#include <cairn/layer/dense/dense_half.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/channel_statistics/channel_statistics.hpp>
#include <cairn/ops/normalized_product/normalized_product.hpp>

namespace cairn {

// BatchNorm2d, ReLU and a 1x1 convolution without bias to Out channels in one layer. Between two blocks of a DenseNet, before
// an AvgPool2d<2>, it makes torchvision's _Transition (Huang et al.: Densely connected convolutional networks, 2017). Images
// lie as (height, width, channels). The parameters are norm.weight, norm.bias and conv.weight, the buffers norm.running_mean
// and norm.running_var; the convolution starts with He's normal values.
//
// It computes the same as Sequential<BatchNorm2d<In>, ReLU, Conv2d<In, Out, 1, no_bias>>, but neither the normalised map nor
// its gradient is ever in memory: in wide blocks these are most of the memory of a step. Under ddp<> every rank has the
// statistics of its own samples; sync_batch_norm is refused.
template <std::size_t Out>
struct DenseTransition {
  static_assert(Out > 0, "DenseTransition: it makes at least one channel; write DenseTransition<Out>");
  static constexpr reads backward_reads = reads::input;
  static constexpr bool skips_gradients = true;
  static constexpr bool keeps_statistics_apart = true; // they are those of this rank's own samples

  static constexpr bool accepts(const arguments& in) { return in[0].is_real() && in[0].rank() == 3 && in[0].size() > 0; }
  static constexpr tensor outputs(const arguments& in) { return in[0].with_last(Out); }
  static constexpr tensor_list parameters(const arguments& in) {
    const std::size_t c = in[0].last();
    return {{"norm.weight", {c}, initial::constant(1)},
            {"norm.bias", {c}, initial::constant(0)},
            half::convolution_weight("conv.weight", Out, 1, c)};
  }
  static constexpr tensor_list buffers(const arguments& in) {
    return half::running("norm.running_mean", "norm.running_var", in[0].last());
  }

  // The statistics of the batch. A forward whose tape is not kept has them in its workspace.
  static constexpr tensor_list tape(const arguments& in) { return {half::statistics_of(in[0].last())}; }
  static constexpr tensor_list workspace(const arguments& in, pass why) {
    const std::size_t c = in[0].last();
    if (why == pass::backward) return {tensor{3 * (c + Out)}.once().of(element::accumulated), half::statistics_of(c)};
    const ops::normalized_product_room room = ops::room_of_normalized_product(half::pixels_of(in[0]), c, Out);
    const tensor weight = tensor{room.weight}.once().of(element::accumulated);
    const tensor scales = tensor{room.scales}.once().of(element::accumulated);
    const tensor partial = tensor{room.partial}.of(element::accumulated);
    if (why == pass::evaluate) return {weight, scales, partial, half::statistics_of(c)};
    return {weight, scales, partial};
  }
  static constexpr work flops(const arguments& in) {
    const std::size_t product = 2 * in[0].size() * Out, norm = 8 * in[0].size();
    return {product + norm, 2 * product + 2 * norm, product + norm};
  }

  template <class Queue, class T>
    requires detail::normalized_product_runs_on<Queue, T> && detail::channel_statistics_runs_on<Queue, T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const std::size_t channels = call.in(0).last(), rows = call.rows * half::pixels_of(call.in(0));
    const ops::matrix<const T> x{call.inputs[0], rows, channels};
    const T *const weight = call.parameters[0], *const bias = call.parameters[1];
    ops::channel_norm<T> norm{};
    if (call.why == pass::evaluate) {
      norm = ops::channel_norm<T>::of_running(call.buffers.to_read().sums(0), call.buffers.to_read().sums(1), detail::dense_eps,
                                              weight, bias);
    } else {
      accumulated<T>* const statistics = call.tape ? call.tape.sums(0) : call.workspace.sums(3);
      channel_statistics(queue, x, statistics);
      if (call.why == pass::forward)
        channel_statistics_update(queue, rows, channels, detail::dense_momentum, call.buffers.sums(0), call.buffers.sums(1),
                                  static_cast<const accumulated<T>*>(statistics));
      norm = ops::channel_norm<T>::of_batch(statistics, detail::dense_eps, weight, bias);
    }
    const ops::normalized_product_memory<T> memory{call.workspace.sums(0), call.workspace.sums(1), call.workspace.sums(2)};
    normalized_product_forward(queue, ops::matrix<T>{call.outputs[0], rows, Out}, nullptr, x, norm, call.parameters[2], memory);
  }

  template <class Queue, class T>
    requires detail::normalized_product_runs_on<Queue, T> && detail::channel_statistics_runs_on<Queue, T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    const std::size_t channels = call.in(0).last(), rows = call.rows * half::pixels_of(call.in(0));
    const ops::matrix<const T> x{call.inputs[0], rows, channels};
    accumulated<T>* const by_statistics = call.input_gradients ? call.workspace.sums(1) : nullptr;
    ops::normalized_product_gradients<T> to{};
    if (call.input_gradients) to.x = {call.input_gradients[0], rows, channels};
    to.statistics = by_statistics;
    to.norm_weight = call.gradients[0];
    to.norm_bias = call.gradients[1];
    to.weight = call.gradients[2];
    const auto norm =
        ops::channel_norm<T>::of_batch(call.tape.sums(0), detail::dense_eps, call.parameters[0], call.parameters[1]);
    const ops::matrix<const T> gradient{call.output_gradients[0], rows, Out},
        unread{nullptr, rows, Out}; // its statistics do not exist
    normalized_product_backward(queue, to, gradient, unread, nullptr, nullptr, x, norm, call.parameters[2],
                                call.workspace.sums(0));
    if (call.input_gradients)
      channel_statistics_backward(queue, to.x, ops::matrix<const T>{to.x.data, rows, channels}, x, call.tape.sums(0),
                                  static_cast<const accumulated<T>*>(by_statistics));
  }

private:
  using half = detail::dense_half;
};

} // namespace cairn
