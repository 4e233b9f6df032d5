// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/constant_sqrt.hpp>
#include <cairn/core/view.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/channel_statistics/channel_statistics.hpp>

// The two halves of a dense layer, which net/dense/dense_block.hpp has `Layers` times. Between them is the bottleneck: a policy
// decides whether it is stored or recomputed.
//
// Both take a map (h, w, C) and its statistics (C, 2), and make a map and its statistics. The batch normalisation of a map
// needs its statistics, and all layers that read the map share them (ops/channel_statistics). The derivative by a statistic
// is a gradient like others. An evaluation uses running statistics instead; those of the batch are made and not read.
namespace cairn::detail {

inline constexpr double dense_eps = 1e-5, dense_momentum = 0.1; // as torch.nn.BatchNorm2d

// All channels of a block lie in one buffer, of which a layer reads and writes some: the distances between rows of channels, in
// elements. 0: rows without a gap.
struct dense_strides {
  std::size_t input = 0;           // of inputs[0], in both directions
  std::size_t input_gradient = 0;  // of input_gradients[0]
  std::size_t addend = 0;          // of a backward's addend
  std::size_t output_gradient = 0; // of output_gradients[0]
};

// The common part of both. The number of channels before it depends on its position and is that of its input.
struct dense_half {
  static constexpr std::size_t takes = 2;
  static constexpr reads backward_reads = reads::both;
  static constexpr bool skips_gradients = true;

  static constexpr tensor statistics_of(std::size_t channels) { return tensor{channels, 2}.of(element::accumulated).once(); }
  static constexpr std::size_t pixels_of(const tensor& images) { return images[0] * images[1]; }
  static constexpr bool accepts(const arguments& in) {
    return in[0].is_real() && in[0].rank() == 3 && in[1] == statistics_of(in[0].last());
  }
  static constexpr tensor_list outputs(const tensor& images, std::size_t channels) {
    return {images.with_last(channels), statistics_of(channels)};
  }
  // He's initial values for the convolution, as torchvision's DenseNet has them.
  static constexpr tensor convolution_weight(const char* name, std::size_t out, std::size_t kernel, std::size_t in) {
    const double deviation = constant_sqrt(2 / static_cast<double>(kernel * kernel * in));
    return tensor(name, {out, kernel, kernel, in}, initial::normal(deviation)).with_channels_last();
  }
  static constexpr tensor_list running(const char* mean, const char* variance, std::size_t channels) {
    return {tensor{mean, {channels}, initial::constant(0)}.of(element::accumulated),
            tensor{variance, {channels}, initial::constant(1)}.of(element::accumulated)};
  }

  template <class Queue, class T>
  static channel_norm<T> norm_of(Queue& queue, const forward_call<T>& call, std::size_t rows, std::size_t channels) {
    const T *const weight = call.parameters[0], *const bias = call.parameters[1];
    if (call.why == pass::evaluate)
      return channel_norm<T>::of_running(call.buffers.to_read().sums(0), call.buffers.to_read().sums(1), dense_eps, weight, bias);
    if (call.why == pass::forward)
      channel_statistics_update(queue, rows, channels, dense_momentum, call.buffers.sums(0), call.buffers.sums(1),
                                call.inputs.sums(1));
    return channel_norm<T>::of_batch(call.inputs.sums(1), dense_eps, weight, bias);
  }
  template <class T>
  static channel_norm<T> norm_of(const backward_call<T>& call) {
    return channel_norm<T>::of_batch(call.inputs.sums(1), dense_eps, call.parameters[0], call.parameters[1]);
  }
  // The strides of a call; a layer that runs alone has none.
  template <class Call>
  static dense_strides strides_of(const Call& call) {
    return call.dense == nullptr ? dense_strides{} : *call.dense;
  }
  template <class T>
  static matrix<T> rows_of(T* data, std::size_t rows, std::size_t columns, std::size_t stride) {
    return {data, rows, columns, stride == 0 ? columns : stride};
  }
};

} // namespace cairn::detail
