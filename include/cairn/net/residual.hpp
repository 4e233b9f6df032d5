// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include <cairn/net/one_chain.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/net/wrong_network.hpp>
#include <cairn/ops/add/add.hpp>
#include <cairn/plan/policies.hpp>

namespace cairn {

// y = x + f(x), where f is the layers one after another; f(x) must have the shape of x
// (He, Zhang, Ren, Sun: Deep residual learning for image recognition, 2015). Of several tensors the first is added; the
// others are what the layers make of them.
template <class... Layers>
struct Residual {};

namespace detail {

template <class... Layers>
struct made_of<Residual<Layers...>> : one_chain<Sequential<Layers...>> {
  using policy = store_all;
  static constexpr std::string_view name = "Residual";
  static constexpr bool is_right = true;
  using empty = empty_residual<Residual<Layers...>>;
  template <class Takes, class Gives>
  using wrong_ends = residual_ends<Residual<Layers...>, Takes, Gives>;
  template <class... Parts>
  using with = Residual<Parts...>;

  static constexpr void join(const value_list& value, const description* chain, description& out) {
    out = *chain;
    out.accepts = chain->accepts && chain->gives > 0 && chain->after[0] == value[0] && value[0].is_real();
    out.depends[0] |= 1U;
  }

  // A last layer that can add does so in the write that makes the output; the first one likewise on the backward pass. Not
  // where backward reads the output without the addend, or where the output lies on what it is made from.
  static constexpr chain_ends ends(const element_facts& first, const element_facts& last) {
    return {.output = last.adds && !last.as_stage.reads_output && !last.as_stage.in_place_forward, .input_gradient = first.adds};
  }

  static constexpr stage as_stage(const chain_facts* chain) {
    stage s = stage_of_chain(*chain);
    // It may write over its input in the very last write, when nothing reads it any more; and likewise backward.
    s.in_place_forward = !chain->ends.output || !chain->last_reads_input;
    s.in_place_backward = !chain->ends.input_gradient || chain->size > 1;
    if (!chain->ends.output) s.forward_flops += chain->output_elements;
    if (!chain->ends.input_gradient) {
      s.backward_flops += chain->output_elements;
      s.input_gradient_flops += chain->output_elements;
    }
    return s;
  }

  template <class Queue, class Chains, class Frame>
  static void forward(Queue& queue, const Chains& chains, const Frame& block, bool tape, bool output) {
    const auto& chain = chains[0];
    const auto made = forward_chain(queue, chain, lend(chain, block), tape, output);
    if (!output || chain.code->ends.output) return;
    const value_list& list = *chain.code->outputs;
    add(queue, block.rows * list[0].size(), block.outputs[0], block.inputs[0], made[0]);
    for (std::size_t k = 1; k < list.count; ++k) pass_on(queue, block.rows, list[k], block.outputs, k, made, k);
  }

  template <class Queue, class Chains, class Frame>
  static void backward(Queue& queue, const Chains& chains, const Frame& block) {
    const auto& chain = chains[0];
    const auto made = backward_chain(queue, chain, lend(chain, block));
    if (!block.input_gradients || chain.code->ends.input_gradient) return;
    const value_list& list = *chain.code->inputs;
    if (made[0] != nullptr && block.output_gradients[0] != nullptr)
      add(queue, block.rows * list[0].size(), block.input_gradients[0], block.output_gradients[0], made[0]);
    else if (made[0] != nullptr) pass_on(queue, block.rows, list[0], block.input_gradients, 0, made, 0);
    else pass_on(queue, block.rows, list[0], block.input_gradients, 0, block.output_gradients, 0);
    for (std::size_t k = 1; k < list.count; ++k) pass_on(queue, block.rows, list[k], block.input_gradients, k, made, k);
  }

private:
  template <class Chain, class Frame>
  static Frame lend(const Chain& chain, const Frame& block) {
    Frame inside = chain.enter(block);
    if (chain.code->ends.output) inside.output_addend = block.inputs[0];
    if (chain.code->ends.input_gradient) inside.gradient_addend = block.output_gradients[0];
    return inside;
  }
};

} // namespace detail

} // namespace cairn
