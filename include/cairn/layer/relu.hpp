// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/layer/layer.hpp>
#include <cairn/ops/relu/relu.hpp>

namespace cairn {

// y = max(x, 0), as torch.nn.ReLU. Its backward asks only whether y > 0, so it needs no input and can lie on
// it.
struct ReLU {
  static constexpr reads backward_reads = reads::output;
  static constexpr bool in_place = true;
  static constexpr activation as_activation = activation::relu;

  static constexpr tensor outputs(const arguments& in) { return in[0]; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    relu_forward(queue, call.rows * call.in(0).size(), call.outputs[0], call.inputs[0]);
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    relu_backward(queue, call.rows * call.in(0).size(), call.input_gradients[0], call.output_gradients[0], call.outputs[0]);
  }
};

} // namespace cairn
