// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include <cairn/core/tensors.hpp>
#include <cairn/net/one_chain.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/net/several_chains.hpp>
#include <cairn/net/wrong_network.hpp>
#include <cairn/ops/add/add.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/plan/policies.hpp>

namespace cairn {

// y = x + f(x), where f is the layers one after another; f(x) must have the shape of x (He, Zhang, Ren, Sun: Deep residual
// learning for image recognition, 2015). If x has several tensors, only the first is added; the others are the results of the
// layers.
//
// Residual<shortcut<P...>, Layers...> is y = p(x) + f(x), where p is the layers of the shortcut, usually a projection to
// another number of channels at half the size (option B of the paper); p(x) and f(x) have the same shape. Both take the first
// tensor and make one tensor of it. Parameters of p are those of chain 0 of the block, those of f of chain 1.
template <class... Layers>
struct Residual {};

// The layers on the path around those of a Residual; it is the Residual's first argument.
template <class... Layers>
struct shortcut {};

} // namespace cairn

namespace cairn::detail {

template <class T>
inline constexpr bool is_shortcut = false;
template <class... Layers>
inline constexpr bool is_shortcut<shortcut<Layers...>> = true;

template <class... Layers>
struct made_of<Residual<Layers...>> : one_chain<Sequential<Layers...>> {
  using policy = store_all;
  static constexpr std::string_view name = "Residual";
  static constexpr bool is_elementwise = true;
  static constexpr bool is_residual = true;
  static constexpr bool is_right = !(is_shortcut<Layers> || ...);
  using wrong = misplaced_shortcut<Residual<Layers...>>;
  using empty = empty_residual<Residual<Layers...>>;
  template <class Takes, class... Gives>
  using wrong_ends = residual_ends<Residual<Layers...>, Takes, Gives...>;
  template <class... Parts>
  using with = Residual<Parts...>;

  static constexpr void join(const value_list& value, const description* chain, description& out) {
    out = *chain;
    out.accepts = chain->accepts && chain->gives > 0 && chain->after[0] == value[0] && value[0].is_real();
    out.depends[0] |= 1U;
  }

  // A last layer that can add does so in the write that makes the output; the first layer does the same in the backward pass.
  // The last layer does not if backward reads the output without the addend, or if the output may lie on its input.
  static constexpr chain_ends ends(const element_facts& first, const element_facts& last) {
    return {.output = last.adds && !last.as_stage.reads_output && !last.as_stage.in_place_forward, .input_gradient = first.adds};
  }

  static constexpr stage as_stage(const chain_facts* chain) {
    stage s = stage_of_chain(*chain);
    // It may overwrite its input only in the very last write, when the input is no longer read. The same holds for backward.
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

// The shortcut is the first chain: forward writes its result to the block's output first, and backward adds its part of the
// input's gradient last.
template <class... Shortcut, class... Layers>
struct made_of<Residual<shortcut<Shortcut...>, Layers...>> {
  using block_type = Residual<shortcut<Shortcut...>, Layers...>;
  static constexpr part_kind as = part_kind::block;
  static constexpr std::string_view name = "Residual";
  static constexpr bool is_elementwise = true;
  static constexpr bool is_residual = true;
  static constexpr bool is_right = !(is_shortcut<Shortcut> || ...) && !(is_shortcut<Layers> || ...);
  using parts = pack<Sequential<Shortcut...>, Sequential<Layers...>>;
  using policy = store_all;
  using wrong = misplaced_shortcut<block_type>;
  using empty = empty_shortcut<block_type>;
  template <class Takes, class... Gives>
  using wrong_ends = shortcut_ends<block_type, Takes, Gives...>;
  template <class First, class Second>
  using with = Residual<shortcut<First>, Second>;

  static constexpr void join(const value_list& value, const description* chains, description& out) {
    join_alike(value, {chains, 2}, out);
  }

  // A result that its chain does not read again may become the sum; a last layer that can add makes the sum itself.
  static constexpr chain_ends ends(const element_facts& first, const element_facts& last) {
    const bool lent = !last.as_stage.reads_output;
    return {
        .output = lent, .adds_output = lent && last.adds && !last.as_stage.in_place_forward, .adds_input_gradient = first.adds};
  }

  static constexpr stage as_stage(const chain_facts* chains) {
    const chain_facts &p = chains[0], &f = chains[1];
    const std::size_t output = output_beside(f.ends, f.output_bytes);
    stage s = stage_without_chains();
    add_chain(s, p, {.adds_gradient = true});
    add_chain(s, f, {.forward = output, .evaluation = output});
    s.forward_flops += f.ends.adds_output ? 0 : f.output_elements;
    return s;
  }

  template <class Queue, class Chains, class Frame>
  static void forward(Queue& queue, const Chains& chains, const Frame& block, bool tape, bool output) {
    const auto &p = chains[0], &f = chains[1];
    const auto first = forward_chain(queue, p, p.enter(block), tape, output);
    if (output && !p.code->ends.output) copy(queue, f.output_elements(block.rows), block.outputs[0], first[0]);

    Frame inside = f.enter(block);
    inside.workspace += output_beside(f.code->ends, f.output_bytes());
    if (output && f.code->ends.adds_output) inside.output_addend = block.outputs[0];
    else if (output && f.code->ends.output) inside.outputs = one_tensor(block.in_workspace());
    const auto second = forward_chain(queue, f, inside, tape, output);
    if (output && !f.code->ends.adds_output)
      add(queue, f.output_elements(block.rows), block.outputs[0], block.outputs[0], second[0]);
  }

  template <class Queue, class Chains, class Frame>
  static void backward(Queue& queue, const Chains& chains, const Frame& block) {
    for (const std::size_t c : {1U, 0U}) backward_in_turn(queue, chains, c, chains[c].enter(block));
  }

private:
  // Bytes of workspace besides a chain's own: the second result, if no layer adds it to the first.
  static constexpr std::size_t output_beside(const chain_ends& f, std::size_t bytes) {
    return f.output && !f.adds_output ? bytes : 0;
  }
};

} // namespace cairn::detail
