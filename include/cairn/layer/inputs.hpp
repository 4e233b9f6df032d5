// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/bundle.hpp>
#include <cairn/layer/bundle_layer.hpp>
#include <cairn/ops/copy/copy.hpp>

namespace cairn {

// Says which tensors and constants a network takes, and leaves the numbers as they are: Sequential<Inputs<dims<64>,
// constant<64>>, ...> takes one tensor and one constant (a mask, positions), which every layer of several tensors sees.
// Its trainer is given them in this order: step(inputs(hidden, mask), targets).
//
// A constant has no gradient and is never copied: it is read where the caller has it.
template <class... Tensors>
struct Inputs {
  static constexpr bundle input_shapes = bundle_of<Tensors...>::value;
  static_assert(input_shapes.size() > 0, "Inputs: a network takes at least one tensor dims<...>");
  static_assert(
      [] {
        std::size_t tensors_behind = 0;
        bool constants_yet = false;
        for (const bool is_constant : {detail::is_constant<Tensors>...}) {
          if (constants_yet && !is_constant) ++tensors_behind;
          constants_yet = constants_yet || is_constant;
        }
        return tensors_behind == 0;
      }(),
      "Inputs: tensors come before constants; write Inputs<dims<...>, constant<...>>");

  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool in_place = true;

  static constexpr bool accepts(const bundle& in) { return in == input_shapes; }
  static constexpr bundle output_shapes(const bundle& in) { return in; }
  static constexpr bool depends(std::size_t output, std::size_t input) { return output == input; }
  static constexpr work flops(const bundle&) { return {}; }

  template <class Queue, class T>
  static void forward(Queue& queue, const bundle_forward_call<T>& call) {
    for (std::size_t k = 0; k < input_shapes.size(); ++k)
      copy(queue, call.rows * input_shapes[k].size(), call.outputs[k], call.inputs[k]);
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const bundle_backward_call<T>& call) {
    for (std::size_t k = 0; k < input_shapes.size(); ++k)
      if (call.input_gradients[k] != nullptr)
        copy(queue, call.rows * input_shapes[k].size(), call.input_gradients[k], call.output_gradients[k]);
  }
};

} // namespace cairn
