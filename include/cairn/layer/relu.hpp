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

  static constexpr shape output_shape(const shape& in) { return in; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    relu_forward(queue, call.rows * call.input_shape->size(), call.output, call.input);
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (call.input_gradient == nullptr) return;
    relu_backward(queue, call.rows * call.input_shape->size(), call.input_gradient, call.output_gradient,
                  call.output);
  }
};

} // namespace cairn
