// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/layer/layer.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>

namespace cairn::detail {

// A layer that changes each element by itself: y = value(x), and dx = slope(dy, v), where v is x or y, as Reads says. Both are
// function objects without state, for every device and element type: see elementwise(). An element may be written where it was
// read.
template <class Value, class Slope, reads Reads>
struct elementwise_layer {
  static_assert(Reads == reads::input || Reads == reads::output, "elementwise_layer: the slope reads the input or the output");
  static constexpr reads backward_reads = Reads;
  static constexpr bool in_place = true;
  static constexpr bool takes_tokens_apart = true;

  static constexpr tensor outputs(const arguments& in) { return in[0]; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    elementwise(queue, call.rows * call.in(0).size(), Value{}, call.outputs[0], call.inputs[0]);
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    const T* const read = Reads == reads::input ? call.inputs[0] : call.outputs[0];
    elementwise(queue, call.rows * call.in(0).size(), Slope{}, call.input_gradients[0], call.output_gradients[0], read);
  }
};

} // namespace cairn::detail
