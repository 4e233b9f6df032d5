// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/convert/convert.hpp>
#include <cairn/ops/copy/copy.hpp>

// The two ends of an in_float<...> (net/in_float.hpp). Between them values are accumulated<T>: float in a network of 16 bits. In
// a network of float or double they are T, and a border does nothing where it may lie on its input.
namespace cairn::detail {

// One of the two borders: the first tensor in elements of type To; integers stay as they are. First is the layer after it, if it
// knows what it takes.
template <element From, element To>
struct float_border {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool in_place = true; // where both types are the same
  static constexpr bool reshapes = true;
  static constexpr bool takes_no_place = true;

  static constexpr bool accepts(const arguments& in) {
    return !in[0].per_batch && (in[0].type == From || in[0].type == element::int32);
  }
  static constexpr tensor outputs(const arguments& in) { return in[0].type == From ? in[0].of(To) : in[0]; }
  static constexpr work flops(const arguments&) { return {}; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const std::size_t count = call.rows * call.in(0).size();
    if (call.in(0).type == element::int32) copy(queue, count, call.outputs.integers(0), call.inputs.integers(0));
    else if constexpr (!is_narrow<T>) copy(queue, count, call.outputs[0], call.inputs[0]);
    else if constexpr (To == element::accumulated) convert(queue, count, call.outputs.sums(0), call.inputs[0]);
    else convert(queue, count, call.outputs[0], call.inputs.sums(0));
  }
  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    const std::size_t count = call.rows * call.in(0).size();
    if constexpr (!is_narrow<T>) copy(queue, count, call.input_gradients[0], call.output_gradients[0]);
    else if constexpr (To == element::accumulated) convert(queue, count, call.input_gradients[0], call.output_gradients.sums(0));
    else convert(queue, count, call.input_gradients.sums(0), call.output_gradients[0]);
  }
};
template <class First>
struct enter_float : float_border<element::real, element::accumulated> {};
template <class First>
  requires requires { First::inputs; }
struct enter_float<First> : float_border<element::real, element::accumulated> {
  static constexpr tensor_list inputs = First::inputs;
};
using leave_float = float_border<element::accumulated, element::real>;

} // namespace cairn::detail
