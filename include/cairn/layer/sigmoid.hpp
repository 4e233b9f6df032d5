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

  static constexpr shape output_shape(const shape& in) { return in; }

  // An exponential and a division are about 18 operations.
  static constexpr work flops(const shape& in) { return {18 * in.size(), 3 * in.size(), 3 * in.size()}; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    sigmoid_forward(queue, call.rows * call.input_shape->size(), call.output, call.input);
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (call.input_gradient == nullptr) return;
    sigmoid_backward(queue, call.rows * call.input_shape->size(), call.input_gradient, call.output_gradient,
                     call.output);
  }
};

} // namespace cairn
