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

  static constexpr tensor outputs(const arguments& in) { return in[0]; }

  // An exponential, a division and two polynomials are about 45 operations.
  static constexpr work flops(const arguments& in) { return {45 * in[0].size(), 48 * in[0].size(), 48 * in[0].size()}; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    gelu_forward(queue, call.rows * call.in(0).size(), call.outputs[0], call.inputs[0]);
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    gelu_backward(queue, call.rows * call.in(0).size(), call.input_gradients[0], call.output_gradients[0], call.inputs[0]);
  }
};

} // namespace cairn
