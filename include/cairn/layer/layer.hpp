// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <cairn/core/memory.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/ops/activation.hpp>

namespace cairn {

// Why a forward runs. `forward` is the first one of a step: only here may state that is no parameter change
// (BatchNorm's running statistics). `recompute` makes the same bits again. `evaluate` is what torch calls eval().
enum class pass : unsigned char { forward, recompute, evaluate };

// What backward reads of the forward pass, besides the stage's own tape.
enum class reads : unsigned char { nothing = 0, input = 1, output = 2, both = 3 };

// Floating-point operations for one sample.
struct work {
  std::uint64_t forward = 0;
  std::uint64_t backward = 0; // all of it
  std::uint64_t input_gradient =
      0; // the part of backward that is not needed when nobody reads the input gradient
};

// How a parameter starts: uniform in [-scale, scale], or everywhere `scale`.
enum class initial : unsigned char { uniform, constant };

struct parameter {
  std::string_view name{};
  shape extents{};
  initial start = initial::constant;
  double scale = 0;
};

// The parameters of one layer, in the order in which forward and backward name them.
struct parameter_list {
  static constexpr std::size_t max_size = 8;

  std::array<parameter, max_size> items{};
  std::size_t count = 0;

  constexpr parameter_list() = default;
  constexpr parameter_list(std::initializer_list<parameter> list) {
    for (const parameter& p : list) items[count++] = p;
  }
  constexpr const parameter* begin() const { return items.data(); }
  constexpr const parameter* end() const { return items.data() + count; }
};

// The tensors of one stage (its parameters, their gradients, or its state): one block, each tensor aligned.
template <class T>
struct tensors {
  T* block = nullptr;
  const std::size_t* offsets = nullptr; // in elements

  T* operator[](std::size_t i) const { return block + offsets[i]; }
};

// Everything a layer is lent for one forward. `output` has been laid out for `rows` samples, one after another.
template <class T>
struct forward_call {
  std::size_t rows = 0;               // samples, 1 … batch
  const shape* input_shape = nullptr; // of one sample
  const T* input = nullptr;           // (rows, input_shape)
  T* output = nullptr;                // (rows, output_shape); may be `input` if the layer is in_place
  tensors<const T> parameters{};
  tensors<T> state{};             // what is no parameter; written in pass::forward only
  std::byte* tape = nullptr;      // own bytes for backward; null when no backward follows this forward
  std::byte* workspace = nullptr; // own bytes for this call only
  pass why = pass::forward;
  random_key random{};                // equal for the forward and every recompute of one step
  activation then = activation::none; // to be applied to the result; only asked of a layer with `fuses`
  const T* addend =
      nullptr; // (rows, output_shape) to be added to the result; only asked of a layer with `adds`
};

// Everything a layer is lent for one backward.
template <class T>
struct backward_call {
  std::size_t rows = 0;
  const shape* input_shape = nullptr;
  const T* input = nullptr;           // as in forward, if the layer reads it, else null
  const T* output = nullptr;          // likewise
  const T* output_gradient = nullptr; // (rows, output_shape); may be overwritten only as input_gradient
  T* input_gradient = nullptr;        // (rows, input_shape), to be overwritten; null when nobody reads it
  tensors<const T> parameters{};
  tensors<T> gradients{}; // to be overwritten
  const std::byte* tape = nullptr;
  std::byte* workspace = nullptr;
  random_key random{};
  activation before =
      activation::none;      // multiply input_gradient by its derivative at `input`; only asked with `fuses`
  const T* addend = nullptr; // (rows, input_shape) to be added to input_gradient; only asked with `adds`
};

// A layer is a function of its input and its parameters, with its derivative.
//
// A type L is a layer if
//   1. L::output_shape(s) is, at compile time, the shape made from an input of shape s (batch left out);
//   2. L::backward_reads says what backward reads of the forward pass: input, output, both or nothing;
//   3. L::forward(queue, forward_call<T>) writes all of output, for any number of rows;
//   4. L::backward(queue, backward_call<T>) overwrites input_gradient (unless it is null) and the gradients of its
//      parameters; both are derivatives of dot(output, output_gradient). Of the forward pass it may look only at
//      what backward_reads names and at its tape;
//   5. equal inputs give equal bits: random numbers come from call.random only, and a sum is taken in an order
//      that does not depend on the number of threads.
//
// It may also have (else the default in brackets holds)
//   accepts(s)          is an input of shape s acceptable? [yes]
//   input_shape         the shape that a network beginning with it takes [unknown]
//   parameters(s)       a parameter_list [none]; state(s) likewise, for what is no parameter [none]
//   flops(s)            the work of one sample [as many operations as outputs]
//   tape_bytes(s, e)    own bytes kept per sample, with elements of e bytes [0]
//   workspace_bytes(s, e)   own bytes per sample during one call [0]
//   in_place            output may lie on input, input_gradient on output_gradient [false]
//   fuses               it applies call.then and call.before [false]; adds: it adds call.addend [false]
//   as_activation       what it is to a layer before it that fuses [activation::none]
//
// A layer need not know its neighbours, its position, the batch, or whether its input was stored or made again: that
// is what lets checkpoint decide for it. It is stateless: whatever it works on is lent to it.
//
// A layer that takes or gives several tensors, or reads a constant of the network (a mask, positions), is described in
// layer/bundle_layer.hpp. In a network of such, a layer of one tensor works on the first, and the others go past it.

namespace detail {

template <class L>
constexpr bool answers_output_shape = requires(shape s) {
  { L::output_shape(s) } -> std::convertible_to<shape>;
};
template <class L>
constexpr bool names_backward_reads = requires {
  { L::backward_reads } -> std::convertible_to<reads>;
};

} // namespace detail

template <class L>
concept layer = detail::answers_output_shape<L> && detail::names_backward_reads<L>;

} // namespace cairn
