// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/layer.hpp>
#include <cairn/ops/softmax/softmax.hpp>

namespace cairn {

// Every row of the last extent becomes probabilities, y_j = e^x_j / sum_k e^x_k, as torch.nn.Softmax(dim=-1). For float it is
// within 1e-6 relative where x is at most 10 below the row's maximum, and within 6e-6 down to 87 below. Backward reads the
// output, which may overwrite the input. CrossEntropyLoss takes logits: it needs no Softmax before it.
struct Softmax {
  static constexpr reads backward_reads = reads::output;
  static constexpr bool in_place = true;

  static constexpr bool accepts(const arguments& in) { return in[0].is_real() && in[0].rank() > 0; }
  static constexpr tensor outputs(const arguments& in) { return in[0]; }

  // The maximum, the difference, an exponential of about 15 operations, the sum and the product are 19 operations per element;
  // backward's product, sum, difference and product are 4.
  static constexpr work flops(const arguments& in) { return {19 * in[0].size(), 4 * in[0].size(), 4 * in[0].size()}; }

  template <class T, detail::softmax_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    softmax_forward(queue, call.rows * rows_of(call.in(0)), call.in(0).last(), call.outputs[0], call.inputs[0]);
  }

  template <class T, detail::softmax_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    softmax_backward(queue, call.rows * rows_of(call.in(0)), call.in(0).last(), call.input_gradients[0], call.output_gradients[0],
                     call.outputs[0]);
  }

private:
  static constexpr std::size_t rows_of(const tensor& in) { return in.size() / in.last(); }
};

} // namespace cairn
