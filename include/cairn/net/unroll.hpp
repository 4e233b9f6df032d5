// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include <cairn/core/tensors.hpp>
#include <cairn/layer/checked_layer.hpp>
#include <cairn/net/one_chain.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/net/several_chains.hpp>
#include <cairn/net/unroll_step.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>

namespace cairn {

// A recurrent network: T steps of one Cell, which share its parameters. It takes the inputs of all steps, (T, In), and makes the
// states after each, (T, Hidden). Unroll<T, GRUCell<In, Hidden>> is torch.nn.GRU of one layer with batch_first=True, without its
// second result; LSTMCell likewise. The first states are zero. Unroll<T, Cell>::last makes the last state only, (Hidden).
//
// The parameters are in memory once and have the cell's names. Their gradients are summed from the last step to the first.
//
// Policy decides which states are stored between the forward pass and the backward pass, as for a chain of T + 1 stages:
//
//   Unroll<100, GRUCell<32, 64>>             stores all states, and the gates of every step
//   Unroll<100, GRUCell<32, 64>, sqrt_n>     stores every tenth state, and the gates of ten steps at a time
//   Unroll<100, GRUCell<32, 64>, revolve<8>> stores eight states, and the gates of one step
//
// The results are the same, bit for bit.
//
// A cell of your own is a layer that says `inputs`: the input of one step, then at least one state. Its outputs are the same
// states after the step, of which the first goes on to the next layer. It has no buffers.
template <std::size_t T, class Cell, class Policy = store_all, bool LastOnly = false>
struct Unroll {
  using last = Unroll<T, Cell, Policy, true>;
};

} // namespace cairn

namespace cairn::detail {

struct unroll_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>,
                  "Unroll: it has at least one step, and its cell is a layer with  using inputs = ...  (what a step takes, then "
                  "its states), makes the same states, and has no buffers; write Unroll<50, GRUCell<In, Hidden>>; see "
                  "wrong_unroll<type>");
    return false;
  }
};

// An Unroll whose cell is none, or that has no step.
template <class Block, class Takes = void>
struct wrong_unroll : unroll_message {};

// Is it a layer that makes of an input and states these states?
template <class Cell>
constexpr bool is_cell() {
  if constexpr (!right_layer<Cell>) {
    return false;
  } else if constexpr (requires {
                         requires Cell::inputs.count >= 2;
                         requires Cell::inputs.count <= most_tensors + 1;
                       }) {
    const tensor_list none{};
    const arguments in{Cell::inputs.items.data(), Cell::inputs.count, none};
    if constexpr (
        requires { Cell::buffers(in); } || requires { Cell::sums_over_ranks(in); } || requires { typename Cell::tied_to; })
      return false;
    else {
      const tensor_list made(Cell::outputs(in));
      bool right = taken_by<Cell> == Cell::inputs.count && made.count + 1 == Cell::inputs.count;
      for (const tensor& t : Cell::inputs) right = right && t.is_real() && t.has_gradient && t.rank() < shape::max_rank;
      for (std::size_t k = 0; right && k < made.count; ++k) right = made[k] == Cell::inputs[k + 1];
      return right;
    }
  } else {
    return false;
  }
}

// The chain of a cell in steps; of none if it is no cell, so that no other error follows.
template <std::size_t T, class Cell, bool LastOnly, bool Right>
struct unrolled_chain {
  using step = std::conditional_t<LastOnly, unroll_silent_step<T, Cell>, unroll_step<T, Cell>>;
  using type = Sequential<unroll_start<T, Cell>, Repeat<T, step>>;
};
template <std::size_t T, class Cell, bool LastOnly>
struct unrolled_chain<T, Cell, LastOnly, false> {
  using type = Sequential<>;
};

// The least S with which revolve<S> does at most `sweeps` forwards of each of n stages: the number of ways to choose `sweeps` out
// of S + `sweeps` is n or more.
constexpr std::size_t states_for_sweeps(std::size_t n, std::size_t sweeps) {
  for (std::size_t s = 1;; ++s) {
    std::size_t reach = 1;
    for (std::size_t k = 1; k <= sweeps; ++k) reach = reach * (s + k) / k;
    if (reach >= n) return s;
  }
}

template <std::size_t Steps, class Cell, class Policy, bool LastOnly>
struct made_of<Unroll<Steps, Cell, Policy, LastOnly>>
    : one_chain<typename unrolled_chain<Steps, Cell, LastOnly, (Steps > 0) && is_cell<Cell>()>::type> {
  using block_type = Unroll<Steps, Cell, Policy, LastOnly>;
  using policy = Policy;
  static constexpr std::string_view name = LastOnly ? "Unroll::last" : "Unroll";
  static constexpr bool names_parts = false; // its parameters have the cell's names
  static constexpr bool is_right = Steps > 0 && is_cell<Cell>();
  using wrong = wrong_unroll<block_type>;
  using empty = wrong;
  template <class Takes, class...>
  using wrong_ends = wrong_unroll<block_type, Takes>;
  // Ways for a budget (net/block_ways.hpp): each step runs once more, twice, three times or four times, with the fewest states;
  // fewer times where there are many steps, as clang evaluates no layout of several hundred forwards.
  static constexpr bool offers_ways = is_right && std::is_same_v<Policy, store_all>;
  static constexpr bool offers_ways_alone = offers_ways;
  template <std::size_t Way>
  static constexpr std::size_t sweeps = Way * Steps <= 300 ? Way
                                        : Steps <= 300     ? 300 / Steps
                                                           : 1;
  template <std::size_t Way>
  using policies_in_way = pack<std::conditional_t<sweeps<Way> == 1, sqrt_n, revolve<states_for_sweeps(Steps + 1, sweeps<Way>)>>>;
  template <class...>
  using with = Unroll<Steps, Cell, store_all, LastOnly>; // the policy does not change the function

  static constexpr void join(const value_list& value, const description*, description& out) {
    const tensor& state = Cell::inputs[1];
    describe_one_tensor(value, LastOnly ? state : cell_facts<Cell>::in_steps(state, Steps), out);
  }
  static constexpr chain_ends ends(const element_facts&, const element_facts&) { return {.output = false}; }

  static constexpr stage as_stage(const chain_facts* chain) {
    stage s = stage_of_chain(*chain);
    s.reads_input = true; // each step reads its own in the backward pass
    if (Steps > 1) s.backward_workspace.per_batch += chain->gradient_bytes;
    return s;
  }

  template <class Queue, class Chains, class Frame>
  static void forward(Queue& queue, const Chains& chains, const Frame& block, bool tape, bool output) {
    Frame inside = chains[0].enter(block);
    unrolled_steps<typename Frame::element> steps = steps_of(chains[0], inside);
    if (!LastOnly && output) steps.outputs = block.outputs[0];
    inside.steps = &steps;
    const auto made = forward_chain(queue, chains[0], inside, tape, output);
    if (LastOnly && output) copy(queue, Cell::inputs[1].elements(block.rows), block.outputs[0], made.to_read()[0]);
  }

  template <class Queue, class Chains, class Frame>
  static void backward(Queue& queue, const Chains& chains, const Frame& block) {
    Frame inside = chains[0].enter(block);
    unrolled_steps<typename Frame::element> steps = steps_of(chains[0], inside);
    if (Steps > 1) {
      steps.part = {block.workspace, steps.gradients.offsets};
      inside.workspace += chains[0].code->parameter_begin[chains[0].code->size()] * sizeof(typename Frame::sum);
    }
    steps.input_gradients = block.input_gradients[0];
    if (!LastOnly) { // the gradient of each state comes with its step, none with the last states
      steps.output_gradients = block.output_gradients[0];
      inside.output_gradients = {nullptr, nullptr, 1};
    }
    inside.steps = &steps;
    backward_chain(queue, chains[0], inside);
  }

private:
  // The parameters are those of the first stage.
  template <class Chain, class Frame>
  static unrolled_steps<typename Frame::element> steps_of(const Chain& chain, const Frame& inside) {
    using T = typename Frame::element;
    const auto& code = *chain.code;
    const auto& start = code.at(0);
    const T* const parameters = code.is_frozen ? inside.frozen_parameters(0) : inside.parameters;
    accumulated<T>* gradients = nullptr;
    if (!code.is_frozen && inside.gradients != nullptr)
      gradients = inside.accumulation != nullptr ? inside.accumulation
                                                 : inside.gradients->start + (inside.gradient_begin - inside.gradients->begin);
    return {.first = inside.random.position + code.leaf_begin[1],
            .parameters = {reinterpret_cast<const std::byte*>(parameters), start.parameter_layout.offsets.data()},
            .gradients = {reinterpret_cast<std::byte*>(gradients), start.gradient_layout().offsets.data()},
            .inputs = inside.inputs[0]};
  }
};

} // namespace cairn::detail
