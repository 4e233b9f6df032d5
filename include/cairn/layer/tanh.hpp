// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/layer/layer.hpp>
#include <cairn/ops/tanh/tanh.hpp>

namespace cairn {

// y = tanh x, as torch.nn.Tanh. The derivative is 1 - y^2: the input is not needed again, and the output can
// lie on it.
struct Tanh {
  static constexpr reads backward_reads = reads::output;
  static constexpr bool in_place = true;

  static constexpr tensor outputs(const arguments& in) { return in[0]; }

  // An exponential, a division and a polynomial are about 25 operations.
  static constexpr work flops(const arguments& in) { return {25 * in[0].size(), 3 * in[0].size(), 3 * in[0].size()}; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    tanh_forward(queue, call.rows * call.in(0).size(), call.outputs[0], call.inputs[0]);
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    tanh_backward(queue, call.rows * call.in(0).size(), call.input_gradients[0], call.output_gradients[0], call.outputs[0]);
  }
};

} // namespace cairn
