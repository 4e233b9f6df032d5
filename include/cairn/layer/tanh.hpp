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

  static constexpr shape output_shape(const shape& in) { return in; }

  // An exponential, a division and a polynomial are about 25 operations.
  static constexpr work flops(const shape& in) { return {25 * in.size(), 3 * in.size(), 3 * in.size()}; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    tanh_forward(queue, call.rows * call.input_shape->size(), call.output, call.input);
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (call.input_gradient == nullptr) return;
    tanh_backward(queue, call.rows * call.input_shape->size(), call.input_gradient, call.output_gradient,
                  call.output);
  }
};

} // namespace cairn
