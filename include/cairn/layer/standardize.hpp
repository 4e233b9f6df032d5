// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/rooms.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/standardize/standardize.hpp>

namespace cairn::preprocess {

// Every feature of the data gets mean 0 and deviation 1: y = (x - mean) / std, as scikit-learn's StandardScaler and
// torchvision's Normalize(mean, std). As a part of the network it is saved, loaded and written with the weights, so that a
// program with the network cannot scale its inputs in another way than its training did. An input of any rank whose last extent
// is Features is a stack of such rows: those of an image (height, width, channels) are its pixels.
//
// Both are buffers, named "mean" and "std": training does not change them, and all ranks start with those of rank 0. They start
// as 0 and 1, with which the layer changes nothing. preprocess::learn_statistics(train, data) sets them before training; any
// other numbers are set by name, as train.buffer("0.mean")[2] = 0.5, where a std of 0 makes infinities.
//
// In a network of 16 bits values are float inside the layer, but its input was rounded before: a feature that is 2^k deviations
// away from 0 loses k of its 8 (bfloat16) or 11 (float16) bits.
template <std::size_t Features>
struct Standardize {
  static_assert(Features > 0, "preprocess::Standardize: it needs at least one feature; write preprocess::Standardize<Features>");

  static constexpr tensor_list inputs{{Features}};
  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool in_place = true;
  static constexpr bool takes_tokens_apart = true;

  static constexpr bool accepts(const arguments& in) { return in[0].is_real() && in[0].rank() > 0 && in[0].last() == Features; }
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static constexpr tensor_list buffers(const arguments&) {
    return {tensor{"mean", {Features}, initial::constant(0)}.of(element::accumulated),
            tensor{"std", {Features}, initial::constant(1)}.of(element::accumulated)};
  }

  // A difference and a quotient; backward has the quotient only.
  static constexpr work flops(const arguments& in) { return {2 * in[0].size(), in[0].size(), in[0].size()}; }

  template <class T, detail::standardize_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    standardize(queue, call.rows * rows_of(call.in(0)), Features, call.outputs[0], call.inputs[0], call.buffers.sums(0),
                call.buffers.sums(1));
  }

  template <class T, detail::standardize_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    standardize_backward(queue, call.rows * rows_of(call.in(0)), Features, call.input_gradients[0], call.output_gradients[0],
                         call.buffers.sums(1));
  }

private:
  static constexpr std::size_t rows_of(const tensor& in) { return in.size() / Features; } // of a sample
};

} // namespace cairn::preprocess
