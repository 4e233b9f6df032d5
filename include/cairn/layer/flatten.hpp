// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/layer/layer.hpp>
#include <cairn/ops/copy/copy.hpp>

namespace cairn {

// The same numbers as one row, as torch.nn.Flatten. Nothing moves when the output lies on the input.
//
// Images lie as (height, width, channels), so a channel is the innermost index of the row: torch's rows of
// images have it outermost, and weights that come from there must be turned.
struct Flatten {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool in_place = true;

  static constexpr shape output_shape(const shape& in) { return {in.size()}; }
  static constexpr work flops(const shape&) { return {}; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    copy(queue, call.rows * call.input_shape->size(), call.output, call.input);
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (call.input_gradient == nullptr) return;
    copy(queue, call.rows * call.input_shape->size(), call.input_gradient, call.output_gradient);
  }
};

} // namespace cairn
