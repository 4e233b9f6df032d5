// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>

#include <cairn/core/bundle.hpp>
#include <cairn/layer/layer.hpp>

namespace cairn {

// Pointers to the tensors of one value, in their order; null behind the last.
template <class T>
using tensor_pointers = std::array<T*, most_tensors>;

// The same to read only.
template <class T>
constexpr tensor_pointers<const T> to_read(const tensor_pointers<T>& from) {
  tensor_pointers<const T> out{};
  for (std::size_t k = 0; k < most_tensors; ++k) out[k] = from[k];
  return out;
}

// What a layer of several tensors is lent for one forward: all that a layer of one is lent (input and output are the
// first tensors), and the other tensors. Each is (rows, its shape) in memory of its own.
template <class T>
struct bundle_forward_call : forward_call<T> {
  const bundle* input_shapes = nullptr;
  tensor_pointers<const T> inputs{};
  tensor_pointers<T> outputs{}; // outputs[k] may be inputs[k] if the layer is in_place, for every k at once
  tensor_pointers<const T> constants{}; // of the whole network, as they came in
};

// Everything such a layer is lent for one backward.
template <class T>
struct bundle_backward_call : backward_call<T> {
  const bundle* input_shapes = nullptr;
  tensor_pointers<const T> inputs{};           // as in forward, if the layer reads its input, else null
  tensor_pointers<const T> outputs{};          // likewise
  tensor_pointers<const T> output_gradients{}; // null: nobody uses this output, so its gradient is nowhere
  tensor_pointers<T> input_gradients{};        // null: nobody reads it; else to be overwritten
  tensor_pointers<const T> constants{};
};

// A layer of several tensors takes several and gives several, and may read the network's constants.
//
// A type L is one if it is a layer in all other ways, and
//   1. L::output_shapes(in) is, at compile time, the bundle of tensors made from the bundle `in`; constants of the
//      result do not count: they are always those of `in`;
//   2. L::forward(queue, bundle_forward_call<T>) writes all outputs;
//   3. L::backward(queue, bundle_backward_call<T>) overwrites every input gradient that is not null and the gradients
//      of its parameters; they are the derivatives of the sum of dot(output, output_gradient) over those outputs whose
//      gradient is not null: of the others nobody asks anything. At least one is not null.
// What it may also say is what a layer of one tensor may say, of a bundle instead of a shape: accepts, parameters,
// state, flops, tape_bytes, workspace_bytes; in_place; input_shapes, which a network beginning with it takes; and
//   takes               how many tensors it takes from the front; those behind go past it untouched [all of them]
//   depends(out, in)    is there a derivative of output `out` by input `in`? Where none of the outputs that are used
//                       depends on an input, that input has no gradient in memory [yes]
//
// A layer of one tensor is one that takes 1 and gives 1: among several tensors it works on the first. A type that is a
// layer of one tensor by its output_shape(shape) is none of several.
template <class L>
concept bundle_layer = !layer<L> && requires(const bundle& in) {
  { L::output_shapes(in) } -> std::convertible_to<bundle>;
  { L::backward_reads } -> std::convertible_to<reads>;
};

} // namespace cairn
