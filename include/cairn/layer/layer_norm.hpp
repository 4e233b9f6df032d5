// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/fraction.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/layer_norm/layer_norm.hpp>

namespace cairn {

// Every row of Features elements gets mean 0 and variance 1, then a weight and a bias per feature, as
// torch.nn.LayerNorm(Features, eps). An input of any rank whose last extent is Features is a stack of such rows. The
// weight starts as ones, the bias as zeros.
//
// Mean and 1 / deviation of each row are kept for backward: two numbers, cheaper than another pass over the row.
template <std::size_t Features, auto Eps = fraction{1, 100000}>
struct LayerNorm {
  static_assert(Features > 0, "LayerNorm: it needs at least one feature; write LayerNorm<Features>");

  static constexpr double eps = static_cast<double>(Eps);
  static constexpr tensor_list inputs{{Features}};
  static constexpr reads backward_reads = reads::input;
  static constexpr bool in_place = true;
  static constexpr bool skips_gradients = true;
  static constexpr bool takes_tokens_apart = true;

  static constexpr bool accepts(const arguments& in) { return in[0].is_real() && in[0].rank() > 0 && in[0].last() == Features; }
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static constexpr tensor_list parameters(const arguments&) {
    return {{"weight", {Features}, initial::constant(1)}, {"bias", {Features}, initial::constant(0)}};
  }
  static constexpr tensor_list tape(const arguments& in) { return tensor{rows_of(in[0]), 2}.of(element::accumulated); }

  // Mean, variance and result are 8 operations per element; the gradients of the parameters are 5, of the input 10.
  static constexpr work flops(const arguments& in) { return {8 * in[0].size(), 15 * in[0].size(), 10 * in[0].size()}; }

  template <class T, detail::layer_norm_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    layer_norm_forward(queue, call.rows * rows_of(call.in(0)), Features, eps, call.outputs[0], call.tape.sums(0), call.inputs[0],
                       call.parameters[0], call.parameters[1]);
  }

  template <class T, detail::layer_norm_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    layer_norm_backward(queue, call.rows * rows_of(call.in(0)), Features, call.input_gradients[0], call.gradients[0],
                        call.gradients[1], call.output_gradients[0], call.inputs[0], call.tape.sums(0), call.parameters[0]);
  }

private:
  // The number of rows of Features elements in one sample.
  static constexpr std::size_t rows_of(const tensor& in) { return in.size() / Features; }
};

} // namespace cairn
