// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/layer/layer.hpp>
#include <cairn/ops/sigmoid/sigmoid.hpp>

namespace cairn {

// y = 1 / (1 + e^-x), as torch.nn.Sigmoid. The derivative is y (1 - y): the input is not needed again, and
// the output can lie on it.
struct Sigmoid {
  static constexpr reads backward_reads = reads::output;
  static constexpr bool in_place = true;

  static constexpr tensor outputs(const arguments& in) { return in[0]; }

  // An exponential and a division are about 18 operations.
  static constexpr work flops(const arguments& in) { return {18 * in[0].size(), 3 * in[0].size(), 3 * in[0].size()}; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    sigmoid_forward(queue, call.rows * call.in(0).size(), call.outputs[0], call.inputs[0]);
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    sigmoid_backward(queue, call.rows * call.in(0).size(), call.input_gradients[0], call.output_gradients[0], call.outputs[0]);
  }
};

} // namespace cairn
