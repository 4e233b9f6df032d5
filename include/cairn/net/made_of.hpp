// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <cairn/core/explain.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/layer/description.hpp>
#include <cairn/plan/chain.hpp>

// The structure of a network's types. Everything that walks a network's type (stages, shapes, checks, names, the summary, the
// function that it computes) reads made_of<Type> and knows no composite by name, so that a new one is a file of its own.
namespace cairn::detail {

// The role of a type in the chain around it.
enum class part_kind : unsigned char {
  layer,    // one stage
  sequence, // its parts are stages of the chain around it
  block,    // one stage with chains of its own inside
  update,   // around a whole network: a way to train it
};

// A layer, and any type in a layer's place.
template <class T>
struct made_of {
  static constexpr part_kind as = part_kind::layer;
  using parts = pack<>;
};

// The ends of a chain inside a block. Its input and the gradient of its output are always the block's own.
struct chain_ends {
  bool output = true;         // its last value is written to the block's output
  bool input_gradient = true; // the gradient of its input is written to the block's
  // For blocks of several chains: can the last layer add to the output, and the first one to the gradient of the input?
  bool adds_output = false;
  bool adds_input_gradient = false;
};

// The facts of a chain inside a block, found at compile time.
struct chain_facts {
  std::size_t size = 0;                          // stages
  std::size_t output_elements = 0;               // of one sample of its first output
  std::size_t input_elements = 0;                // ... of its first input
  std::size_t output_bytes = 0, input_bytes = 0; // of the whole values at this batch
  std::size_t tape = 0;                          // bytes at this batch, and likewise below
  std::size_t forward_workspace = 0, evaluation_workspace = 0, backward_workspace = 0;
  std::size_t gradient_bytes = 0; // of its parameters
  bool reads_input = false;       // in its backward pass
  bool last_reads_input = false;  // its last stage works on the block's own input, as the only one or reshaped
  bool reads_output = false;      // ... its last value, if that is the block's own output
  bool writes_output = false;     // in a forward that makes only the tape
  chain_ends ends{};
  std::size_t leaves = 0, parameters = 0, parameter_block = 0, state_block = 0;
  std::uint64_t forward_flops = 0, tape_flops = 0, backward_flops = 0, input_gradient_flops = 0;
};

// A sequence has `times`, how often its parts follow one another, and may have
//
//   takes_one_place            its stages take one place in the Sequential around it, and have its name; see nesting.hpp
//
// A block has, as members of its made_of beside `as` and `parts` (its chains, one after another in the forward pass):
//
//   policy                     the policy of each chain
//   name                       for tables and for the fingerprint
//   is_right, wrong, empty     is it right, whatever its parts are? The diagnostics of the errors if it is not, and if a chain
//                              has no layer
//   wrong_ends<Takes, Gives...>  the diagnostic if the results of its chains, one Gives for each, do not fit together
//   join(value, chains, out)   describes the block from the value that arrives and the descriptions of its chains; out.accepts
//                              says whether they fit together
//   ends(first, last)          which ends of a chain are the block's own, from its first and its last element
//   as_stage(facts)            the block as a stage, from the facts of its chains
//   forward(queue, chains, frame, tape, output), backward(queue, chains, frame)
//                              run it; backward finishes the gradients of the last chain first
//   enters(value, c)           the value that chain c takes, if it is not the block's; then every tensor that the chain makes is
//                              used
//   unused_output              the diagnostic if only some of the tensors that it makes are used, of a block whose join() sets
//                              out.together
//   policies                   a pack: the policy of each chain, if they differ
//   part_name                  chain c and its layers are named part_name + (c + 1) in a state_dict, if they have such names
//   names_parts                if false, the layers of its one chain have the block's name in a state_dict
//   is_transparent             does it compute the same as its one chain?
//   is_elementwise             does each element of its result depend only on those at its place in the results of its chains,
//                              and in its input if it has one chain?
//   is_residual                is its result a sum, whose last term is that of its last chain?
//   with<Parts...>             the same block with other parts

template <class Block>
inline constexpr bool has_own_values = requires(const value_list& value) { made_of<Block>::enters(value, std::size_t{0}); };
template <class Block>
constexpr value_list value_of_chain(const value_list& value, std::size_t chain) {
  if constexpr (has_own_values<Block>) return made_of<Block>::enters(value, chain);
  else return value;
}
// The tensors of a chain's output that are used, given those of the block. Blocks of several chains combine the first tensors
// only.
template <class Block>
constexpr unsigned used_of_chain(unsigned of_block) {
  if constexpr (has_own_values<Block>) return all_tensors;
  else return made_of<Block>::parts::size > 1 ? 1U : of_block;
}
template <class Block, std::size_t Chain>
struct policy_of_chain {
  static auto find() {
    if constexpr (requires { typename made_of<Block>::policies; })
      return type_of<pack_element<Chain, typename made_of<Block>::policies>>{};
    else return type_of<typename made_of<Block>::policy>{};
  }
  using type = typename decltype(find())::type;
};
template <class Block>
constexpr std::string_view part_name = [] {
  if constexpr (requires { made_of<Block>::part_name; }) return std::string_view(made_of<Block>::part_name);
  else return std::string_view{};
}();

// Are the parameters of a block's chains frozen (net/frozen.hpp)?
template <class Block>
inline constexpr bool freezes = false;

// Bytes of workspace that a block keeps beside that of a chain while the chain runs: in a forward that makes the tape, in one
// that does not, and in a backward.
struct beside_chain {
  std::size_t forward = 0, evaluation = 0, backward = 0;
  bool adds_gradient = false; // the gradient of its input is added to that of another chain
};

// Bytes of a gradient that is to be added to another, if the chain's first layer does not add it.
constexpr std::size_t gradient_beside(const chain_ends& ends, std::size_t input_bytes) {
  return ends.adds_input_gradient ? 0 : input_bytes;
}

// The stage of a block before any chain is added.
constexpr stage stage_without_chains() {
  stage s{};
  s.tape_without_output = true;
  s.leaves = 0;
  return s;
}

// Adds a chain to the stage of a block. Chains run one after another in the same workspace, and each has a tape of its own. The
// stage makes its tape without its output if every chain does.
constexpr void add_chain(stage& s, const chain_facts& f, const beside_chain& beside = {}) {
  const auto enlarge = [](bytes& of, std::size_t size) { of.per_batch = of.per_batch < size ? size : of.per_batch; };
  const std::size_t gradient = beside.adds_gradient ? gradient_beside(f.ends, f.input_bytes) : 0;
  const std::uint64_t sums = gradient > 0 ? f.input_elements : 0;
  s.tape.per_batch += f.tape;
  enlarge(s.forward_workspace, beside.forward + f.forward_workspace);
  enlarge(s.evaluation_workspace, beside.evaluation + f.evaluation_workspace);
  enlarge(s.backward_workspace, beside.backward + gradient + f.backward_workspace);
  s.reads_input = s.reads_input || f.reads_input;
  s.tape_without_output = s.tape_without_output && !f.writes_output;
  s.leaves += f.leaves;
  s.parameters += f.parameters;
  s.parameter_block += f.parameter_block;
  s.state_block += f.state_block;
  s.forward_flops += f.forward_flops;
  s.tape_flops += f.tape_flops;
  s.backward_flops += f.backward_flops + sums;
  s.input_gradient_flops += f.input_gradient_flops + sums;
}

// The stage of a block that runs these chains and has no memory beside theirs.
constexpr stage sum_of_chains(std::span<const chain_facts> chains) {
  stage s = stage_without_chains();
  for (const chain_facts& f : chains) add_chain(s, f);
  return s;
}

// The stage of a block that consists of one chain.
constexpr stage stage_of_chain(const chain_facts& f) {
  stage s = sum_of_chains({&f, 1});
  s.reads_output = f.reads_output;
  return s;
}

// Does it compute the same as its one part, so that it only says how that is trained?
template <class T>
inline constexpr bool is_transparent = [] {
  if constexpr (requires { made_of<T>::is_transparent; }) return made_of<T>::is_transparent;
  else return false;
}();

// Does it add the result of its last chain to something else?
template <class T>
inline constexpr bool is_residual = [] {
  if constexpr (requires { made_of<T>::is_residual; }) return made_of<T>::is_residual;
  else return false;
}();

// Is it a sequence whose stages have the name of one layer, and take its place? The names of their parameters differ.
template <class T>
inline constexpr bool takes_one_place = [] {
  if constexpr (requires { made_of<T>::takes_one_place; }) return made_of<T>::takes_one_place;
  else return false;
}();

template <class T>
inline constexpr bool is_block = made_of<T>::as == part_kind::block;

// Is it a block that adds nothing but a schedule?
template <class T>
inline constexpr bool adds_a_schedule = is_block<T> && is_transparent<T> && !freezes<T>;

} // namespace cairn::detail
