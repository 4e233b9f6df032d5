// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/tensor_types.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/copy/copy.hpp>

namespace cairn {

// Declares which tensors and constants a network takes, and moves no data: Sequential<Inputs<dims<64>, constant<64>>, ...>
// takes one tensor and one constant (a mask, positions), which every layer sees. integers<8> is a tensor of tokens,
// batch_constant<8, 64> a constant that is the same for all samples. integer_constant<> is one integer for each sample, such as
// a length, batch_integer_constant<64> 64 integers for the batch. The trainer takes them in this order:
// step(inputs(hidden, mask), targets).
//
// A constant has no gradient and is never copied: it is read where the caller has it.
template <class... Tensors>
struct Inputs {
  static_assert(detail::tensors_of<Tensors...>::in_order,
                "Inputs: tensors come before constants; write Inputs<dims<...>, constant<...>>");
  static constexpr tensor_list inputs = detail::tensors_of<Tensors...>::tensors;
  static constexpr tensor_list constants = detail::tensors_of<Tensors...>::constants;
  static_assert(inputs.size() > 0, "Inputs: a network takes at least one tensor dims<...>");

  static constexpr std::size_t takes = inputs.size();
  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool in_place = true;
  static constexpr bool takes_tokens_apart = true;
  static constexpr bool reshapes = true;
  static constexpr bool takes_no_place = true; // PyTorch has no such layer, and names do not count it

  static constexpr bool accepts(const arguments& in) {
    for (std::size_t k = 0; k < takes; ++k)
      if (!(in[k] == inputs[k])) return false;
    return in.constants() == constants;
  }
  static constexpr tensor_list outputs(const arguments&) { return inputs; }
  static constexpr bool depends(std::size_t output, std::size_t input) { return output == input; }
  static constexpr work flops(const arguments&) { return {}; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    for (std::size_t k = 0; k < takes; ++k) {
      const std::size_t count = inputs[k].elements(call.rows);
      if (inputs[k].type == element::int32) copy(queue, count, call.outputs.integers(k), call.inputs.integers(k));
      else copy(queue, count, call.outputs[k], call.inputs[k]);
    }
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    for (std::size_t k = 0; k < takes; ++k)
      if (call.input_gradients[k] != nullptr)
        copy(queue, inputs[k].elements(call.rows), call.input_gradients[k], call.output_gradients[k]);
  }
};

// The input of a network that takes one tensor of this shape: Sequential<Input<28, 28, 1>, Flatten, ...>. torch has no such
// layer, as it finds shapes at run time. A network that begins with a Linear needs none.
template <std::size_t... Extents>
struct Input : Inputs<dims<Extents...>> {};

} // namespace cairn
