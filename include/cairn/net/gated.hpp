// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include <cairn/net/several_chains.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>
#include <cairn/plan/policies.hpp>

namespace cairn {

// y = f(x) g(x), element by element: the gated linear units of Shazeer: GLU variants improve transformer, 2020
// (arXiv:2002.05202). Gated<Sequential<Linear<D, H>, GELU>, Linear<D, H>> is GEGLU; GLU has Sigmoid there, SwiGLU x sigmoid(x).
// A branch is a layer or a Sequential; both take the first tensor, and make one tensor of the same shape. Backward reads f(x)
// and g(x): the branches write both into the block's own tape, which precedes theirs.
template <class F, class G>
struct Gated {};

} // namespace cairn

namespace cairn::detail {

struct gated_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>, "Gated: each of its two branches has a layer and makes one tensor of the input, of the same "
                                   "shape; see wrong_gated<type, what it takes, what each branch makes>");
    return false;
  }
};

// A Gated whose branches make tensors of different shapes.
template <class Block, class... TakesAndGives>
struct wrong_gated : gated_message {};

template <class F, class G>
struct made_of<Gated<F, G>> {
  static constexpr part_kind as = part_kind::block;
  static constexpr std::string_view name = "Gated";
  static constexpr bool is_right = true, is_elementwise = true;
  using parts = pack<F, G>;
  using policy = store_all;
  using wrong = wrong_gated<Gated<F, G>>;
  using empty = wrong;
  template <class Takes, class... Gives>
  using wrong_ends = wrong_gated<Gated<F, G>, Takes, Gives...>;
  template <class First, class Second>
  using with = Gated<First, Second>;

  static constexpr void join(const value_list& v, const description* chains, description& out) {
    join_alike(v, {chains, 2}, out);
  }
  static constexpr chain_ends ends(const element_facts& first, const element_facts&) {
    return {.adds_input_gradient = first.adds};
  }

  static constexpr stage as_stage(const chain_facts* chains) {
    const std::size_t bytes = chains[0].output_bytes;
    stage s = stage_without_chains();
    add_chain(s, chains[0], {.backward = bytes, .adds_gradient = true});
    add_chain(s, chains[1], {.evaluation = bytes, .backward = bytes});
    s.tape.per_batch += 2 * bytes;
    s.tape_without_output = true; // it makes all but the product
    s.tape_flops = s.forward_flops;
    s.forward_flops += chains[0].output_elements;
    s.backward_flops += 2 * chains[0].output_elements;
    return s;
  }

  template <class Queue, class Chains, class Frame>
  static void forward(Queue& queue, const Chains& chains, const Frame& block, bool tape, bool output) {
    const std::size_t bytes = chains[0].output_bytes();
    auto* const f = tape ? block.in_tape() : block.outputs[0];
    auto* const g = tape ? block.in_tape(bytes) : block.in_workspace();
    for (const std::size_t c : {0U, 1U}) {
      Frame inside = chains[c].enter(block, 2 * bytes);
      inside.outputs = one_tensor(c == 0 ? f : g);
      inside.workspace += c == 0 || tape ? 0 : bytes;
      forward_chain(queue, chains[c], inside, tape, true);
    }
    if (output) elementwise(queue, chains[0].output_elements(block.rows), product_of_two{}, block.outputs[0], f, g);
  }

  template <class Queue, class Chains, class Frame>
  static void backward(Queue& queue, const Chains& chains, const Frame& block) {
    const std::size_t bytes = chains[0].output_bytes();
    for (const std::size_t c : {1U, 0U}) {
      Frame inside = chains[c].enter(block, 2 * bytes);
      inside.outputs = one_tensor(block.in_tape(c * bytes));
      inside.output_gradients = one_tensor(block.in_workspace()).to_read();
      inside.workspace += bytes;
      elementwise(queue, chains[c].output_elements(block.rows), product_of_two{}, block.in_workspace(), block.output_gradients[0],
                  block.in_tape((1 - c) * bytes));
      backward_in_turn(queue, chains, c, inside);
    }
  }
};

} // namespace cairn::detail
