// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/layer/layer.hpp>
#include <cairn/ops/copy/copy.hpp>

namespace cairn {

// The same elements as one row, as torch.nn.Flatten. Nothing is copied if the output lies on the input, and at the front of a
// network the output is the input itself.
//
// Images lie as (height, width, channels), so a channel is the innermost index of the row; torch's rows of images have it
// outermost. Parameters that belong to features of the row are reordered when they are written to a file or read from one
// (train/state/feature_order.hpp).
struct Flatten {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool in_place = true;
  static constexpr bool reshapes = true;

  static constexpr tensor outputs(const arguments& in) { return {in[0].size()}; }
  static constexpr work flops(const arguments&) { return {}; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    copy(queue, call.rows * call.in(0).size(), call.outputs[0], call.inputs[0]);
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    copy(queue, call.rows * call.in(0).size(), call.input_gradients[0], call.output_gradients[0]);
  }
};

} // namespace cairn
