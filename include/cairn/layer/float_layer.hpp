// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/layer/checked_calls.hpp>
#include <cairn/layer/describe.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/layer/real_arguments.hpp>

namespace cairn::detail {

// The same memory, read as elements of another type.
template <class T, class From>
tensors<T> seen_as(const tensors<From>& t) {
  return {t.block, t.offsets, t.there};
}

// A layer, whose parameters are those that it has where values are real.
template <class L>
struct with_real_arguments : L {};
template <class L>
  requires requires(const arguments& in) { L::parameters(in); }
struct with_real_arguments<L> : L {
  static constexpr tensor_list parameters(const arguments& in) { return L::parameters(real_arguments(in)); }
};

// A layer that works in accumulated<T>: its values, its tape, and its parameters, which are read from the master copy.
template <class L>
struct float_layer : with_real_arguments<L> {
  static constexpr bool adds = false, strided = false; // the addend is of the network's type

  static constexpr bool accepts(const arguments& in) {
    for (std::size_t k = 0; k < in.count; ++k)
      if (in[k].per_batch || in[k].type == element::real) return false;
    const real_arguments real(in);
    const arguments own = real;
    if constexpr (requires { L::accepts(own); }) {
      if (!L::accepts(own)) return false;
    } else if (!are_real(own)) {
      return false;
    }
    return tensor_list(L::outputs(own)).count == 1;
  }
  static constexpr tensor outputs(const arguments& in) { return in_sums(tensor_list(L::outputs(real_arguments(in))))[0]; }
  static constexpr tensor_list buffers(const arguments& in) {
    if constexpr (requires { L::buffers(in); }) return L::buffers(real_arguments(in));
    else return {};
  }
  static constexpr tensor_list tape(const arguments& in) {
    if constexpr (requires { L::tape(in); }) return in_sums(L::tape(real_arguments(in)));
    else return {};
  }
  static constexpr tensor_list workspace(const arguments& in, pass why) {
    if constexpr (requires { L::workspace(in, why); }) return in_sums(L::workspace(real_arguments(in), why));
    else return {};
  }
  static constexpr work flops(const arguments& in) {
    const real_arguments real(in);
    const arguments own = real;
    if constexpr (requires { L::flops(own); }) return L::flops(own);
    else {
      const std::uint64_t made = outputs(in).size();
      return {made, made, made};
    }
  }

  template <class T, class Queue>
    requires has_forward<L, Queue, accumulated<T>>
  static void forward(Queue& queue, const forward_call<T>& call) {
    if constexpr (!is_narrow<T>) return L::forward(queue, call);
    else {
      using sum = accumulated<T>;
      forward_call<sum> wide;
      wide.rows = call.rows;
      wide.given = call.given;
      wide.inputs = seen_as<const sum>(call.inputs);
      wide.outputs = seen_as<sum>(call.outputs);
      wide.parameters = call.masters;
      wide.buffers = call.buffers;
      wide.tape = seen_as<sum>(call.tape);
      wide.workspace = seen_as<sum>(call.workspace);
      wide.why = call.why;
      wide.random = call.random;
      wide.then = call.then;
      wide.over_ranks = call.over_ranks;
      L::forward(queue, wide);
    }
  }
  template <class T, class Queue>
    requires has_backward<L, Queue, accumulated<T>>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if constexpr (!is_narrow<T>) return L::backward(queue, call);
    else {
      using sum = accumulated<T>;
      backward_call<sum> wide;
      wide.rows = call.rows;
      wide.given = call.given;
      wide.inputs = seen_as<const sum>(call.inputs);
      wide.outputs = seen_as<const sum>(call.outputs);
      wide.output_gradients = seen_as<const sum>(call.output_gradients);
      wide.input_gradients = seen_as<sum>(call.input_gradients);
      wide.parameters = call.masters;
      wide.gradients = call.gradients;
      wide.buffers = call.buffers;
      wide.tape = seen_as<const sum>(call.tape);
      wide.workspace = seen_as<sum>(call.workspace);
      wide.random = call.random;
      wide.before = call.before;
      wide.over_ranks = call.over_ranks;
      wide.added_sums = call.added_sums;
      L::backward(queue, wide);
    }
  }
};

} // namespace cairn::detail
