// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/core/tensors.hpp>
#include <cairn/layer/layer_sums.hpp>
#include <cairn/layer/loss_in_strips.hpp>
#include <cairn/ops/activation.hpp>
#include <cairn/ops/matmul/packed_weight.hpp>

namespace cairn::detail {

struct dense_strides; // layer/dense/dense_half.hpp
template <class T>
struct unrolled_steps; // net/unroll_step.hpp
template <class T>
struct kept_tokens; // layer/kept_tokens.hpp

} // namespace cairn::detail

namespace cairn {

// The reason why a layer runs. `forward` is the first forward of a step: only here may buffers change (BatchNorm's running
// statistics). `recompute` makes the same bits again. `evaluate` is what torch calls eval().
enum class pass : unsigned char { forward, recompute, evaluate, backward };

// The tensors of the forward pass that backward reads, besides the stage's own tape.
enum class reads : unsigned char { nothing = 0, input = 1, output = 2, both = 3 };

// Floating-point operations for one sample.
struct work {
  std::uint64_t forward = 0;
  std::uint64_t backward = 0;       // all of it
  std::uint64_t input_gradient = 0; // the part of backward that only the input gradient needs
};

// Everything that a forward works on. Tensors that are made in a step have the network's T. Tensors that live from step to
// step, and the gradients of parameters, have the type in which sums of T are kept: for float and double the same
// (core/accumulated.hpp). Parameters are passed as T.
//
// Tensor k of a list is tensor k of the layer's own list: inputs[k] is (rows, in(k)), and likewise for the others.
template <class T>
struct forward_call {
  std::size_t rows = 0; // samples, 1 … batch
  const arguments* given = nullptr;
  types::tensors<const T> inputs{};
  types::tensors<T> outputs{}; // outputs[k] may be inputs[k] for every k if the layer is in_place
  types::tensors<const T> constants{};
  types::tensors<const T> parameters{};
  types::tensors<const accumulated<T>> masters{}; // the same as they are learnt; only for a T of 16 bits
  types::tensors<accumulated<T>> buffers{};       // written in pass::forward only
  types::tensors<T> tape{};                       // for backward; no block if no backward follows this forward
  types::tensors<T> workspace{};                  // for this call only
  pass why = pass::forward;
  types::random_key random{};                   // equal for the forward and every recompute of one step
  ops::activation then = ops::activation::none; // to be applied to the result; set only for a layer that `fuses`
  const T* addend = nullptr;                    // like outputs[0], to be added to it; set only for a layer that `adds`
  const T* tied = nullptr;                      // the first parameter of its owner; set only for a layer that is Tied
  ops::packed_weight<T> packed{};               // of the first parameter; set only for a layer that packs_weight
  // Elements from one row of the last extent of outputs[0] to the next; set only for a layer that is `strided`. 0: rows
  // without a gap.
  std::size_t output_stride = 0;
  const detail::layer_sums* over_ranks = nullptr;   // set only for a layer that has sums_over_ranks
  const detail::dense_strides* dense = nullptr;     // set only for the layers of a DenseBlock (layer/dense/)
  const detail::unrolled_steps<T>* steps = nullptr; // set only for the steps of an Unroll
  const detail::kept_tokens<T>* kept = nullptr;     // set only where a text::session evaluates the next tokens of a text
  bool passes_on = false; // outputs[0] has room for the input, and shall be it; set only for a head_in_strips in training

  const tensor& in(std::size_t k) const { return (*given)[k]; } // the description of input k
};

// Everything that a backward works on.
template <class T>
struct backward_call {
  std::size_t rows = 0;
  const arguments* given = nullptr;
  types::tensors<const T> inputs{};           // as in forward, if the layer reads its input
  types::tensors<const T> outputs{};          // as in forward, if the layer reads its output
  types::tensors<const T> output_gradients{}; // null: this output is not used and has no gradient
  // To be overwritten; null: not wanted. May lie on output_gradients if in_place, on inputs if input_gradient_on_input.
  types::tensors<T> input_gradients{};
  types::tensors<const T> constants{};
  types::tensors<const T> parameters{};
  types::tensors<const accumulated<T>> masters{}; // as in forward
  types::tensors<accumulated<T>> gradients{};     // of the parameters, to be overwritten; no block: see skips_gradients
  types::tensors<const accumulated<T>> buffers{}; // as the step's forward left them
  types::tensors<const T> tape{};
  types::tensors<T> workspace{};
  types::random_key random{};
  ops::activation before = ops::activation::none;    // multiply input_gradients[0] by its derivative at inputs[0]; with `fuses`
  const T* addend = nullptr;                         // like inputs[0], to be added to input_gradients[0]; with `adds`
  std::size_t output_stride = 0;                     // of outputs[0] and output_gradients[0]; with `strided`
  const T* tied = nullptr;                           // as in forward
  accumulated<T>* tied_gradient = nullptr;           // of that parameter, to be overwritten
  const detail::layer_sums* over_ranks = nullptr;    // as in forward
  const detail::dense_strides* dense = nullptr;      // as in forward
  const detail::unrolled_steps<T>* steps = nullptr;  // as in forward
  const detail::loss_in_strips<T>* strips = nullptr; // set only for a head_in_strips in training
  accumulated<T>* added_sums = nullptr;              // see adds_gradients

  const tensor& in(std::size_t k) const { return (*given)[k]; }
};

// A layer is a function of its inputs and its parameters, with its derivative.
//
// A type L is a layer if
//   1. L::outputs(in) is, at compile time, the list of tensors made from the arguments `in` (without the batch): its inputs
//      are in[0], in[1] …, the network's constants are in.constants(). A single tensor is a list of one;
//   2. L::backward_reads says what backward reads of the forward pass: input, output, both or nothing;
//   3. L::forward(queue, forward_call<T>) writes all outputs, for any number of rows;
//   4. L::backward(queue, backward_call<T>) overwrites every input gradient that is not null and the gradients of its
//      parameters: the derivatives of the sum of dot(output, output_gradient) over the outputs whose gradient is not
//      null. It may read its tape and, of the forward pass, only what backward_reads names;
//   5. equal inputs give equal bits: random numbers come from call.random only, and a sum is taken in an order that does
//      not depend on the number of threads.
//
// It may also have (else the default in brackets holds)
//   accepts(in)         whether these arguments are acceptable [yes]
//   inputs              the list of tensors that a network beginning with it takes [unknown]
//   takes               how many tensors it takes from the front; the others pass it untouched [1]
//   depends(out, in)    whether output `out` has a derivative by input `in`. If no used output depends on an input, that
//                       input has no gradient in memory [yes]
//   parameters(in)      the tensors that are learnt, of the network's T, with names and initial values [none]
//   buffers(in)         tensors that are kept from step to step and are no parameters: statistics that forward moves, or a
//                       number that the program sets while it trains, as train.buffer("2.temperature")[0] = 0.5 [none]
//   tape(in)            tensors that forward writes for backward [none]
//   workspace(in, why)  memory for one call, by pass [none]
//   sums_over_ranks(in) how many numbers it sums over the ranks if requested: see layer_sums.hpp [none]
//   keeps_statistics_apart  its batch statistics stay those of each rank's own samples: sync_batch_norm refuses it [false]
//   flops(in)           the work of one sample [as many operations as elements of the outputs]
//   in_place            outputs may lie on inputs, input gradients on output gradients, each independently [false]
//   reshapes            it is in_place, and its outputs are its inputs under other extents: in place it does nothing [false]
//   input_gradient_on_input  input gradients may lie on inputs if call.before is none: backward has read all inputs before it
//                       writes the first input gradient [false]
//   fuses               it applies call.then and call.before [false]
//   adds                it adds call.addend [false]
//   skips_gradients     it leaves the gradients of its parameters out if call.gradients has no block: needed inside frozen<>
//                       [false]
//   adds_gradients      with call.added_sums, it adds to call.gradients in place of overwriting them; there it finds memory as
//                       large as the innermost extent of its output. Input gradients may lie on inputs [false]
//   strided             it obeys call.output_stride [false]
//   packs_weight        its first parameter, of rank 2 or more, is the weight of products, which it can read from call.packed
//                       where that replaces() the weight; one of rank 2 also in fewer bytes [false]
//   takes_tokens_apart  it makes of each token of a text what it makes of that token alone, but for what it keeps [false]
//   keeps_per_token(in) elements of each token of a text that it keeps: see layer/kept_tokens.hpp [none]
//   options_are_right   whether its template arguments are valid. If not, its right<L>() has a static_assert that fails with a
//                       sentence, which is then the only error of a network [true]
//   as_activation       the activation that a layer before it can fuse [activation::none]
//
// A layer does not know its neighbours, its position, the batch, or whether its input was stored or recomputed: so checkpoint
// can decide for it. It is stateless: everything it works on is an argument; numbers of its own that change are buffers.
template <class L>
concept layer = requires(const arguments& in) {
  { L::outputs(in) } -> std::convertible_to<tensor_list>;
  { L::backward_reads } -> std::convertible_to<reads>;
};

} // namespace cairn
