// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/layer/layer.hpp>
#include <cairn/ops/gelu/gelu.hpp>

namespace cairn {

// y = x P(x), where P is the normal distribution, as torch.nn.GELU with approximate="none". Two inputs have
// the same output, so backward must read the input.
struct GELU {
  static constexpr reads backward_reads = reads::input;
  static constexpr bool in_place = true;

  static constexpr shape output_shape(const shape& in) { return in; }

  // An exponential, a division and two polynomials are about 45 operations.
  static constexpr work flops(const shape& in) { return {45 * in.size(), 48 * in.size(), 48 * in.size()}; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    gelu_forward(queue, call.rows * call.input_shape->size(), call.output, call.input);
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (call.input_gradient == nullptr) return;
    gelu_backward(queue, call.rows * call.input_shape->size(), call.input_gradient, call.output_gradient,
                  call.input);
  }
};

} // namespace cairn
