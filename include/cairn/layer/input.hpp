// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/layer.hpp>
#include <cairn/ops/copy/copy.hpp>

namespace cairn {

// Says what shape a network takes, and leaves the numbers as they are: Sequential<Input<28, 28, 1>, Flatten,
// ...>. torch has no such layer, as it learns shapes when it runs. A network that begins with a Linear needs
// none.
template <std::size_t... Extents>
struct Input {
  static constexpr shape input_shape{Extents...};
  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool in_place = true;

  static constexpr bool accepts(const shape& in) { return in == input_shape; }
  static constexpr shape output_shape(const shape& in) { return in; }
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
