// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include <cairn/core/rooms.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/core/tensors.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/several_chains.hpp>
#include <cairn/plan/policies.hpp>

namespace cairn::multi {

// (f(x), g(x), ...), a tensor from each head: the last block of a network that learns several things at once. A head is a layer
// or a Sequential; all of them take the first tensor, and each makes one of any shape. There are at most 4.
//
//   using Net = Sequential<Linear<784, 64>, ReLU, multi::Heads<Linear<64, 10>, Sequential<Linear<64, 16>, ReLU, Linear<16, 4>>>>;
//   trainer<with_all_outputs<Net>, multi::losses<CrossEntropyLoss, MSELoss>, AdamW, batch<64>> train{AdamW{}};
//
// A head writes into the tensor that it makes, without a copy. The gradient of the input is summed from the last head to the
// first, as that of a Concat. Every head must be used: by with_all_outputs, or by a layer that takes all tensors.
template <class... Chains>
struct Heads {};

} // namespace cairn::multi

namespace cairn::detail {

struct heads_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>, "multi::Heads: it has one to four heads, no head is empty, and each makes one tensor of its "
                                   "input; see wrong_heads<type, what it takes>");
    return false;
  }
};
struct unused_head_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>,
                  "multi::Heads: a head of this block is used by no layer after it and not by the loss, which takes the first "
                  "tensor; train with_all_outputs<Net> by multi::losses<...> or step_by(), or leave the head out; see "
                  "unused_head<type>");
    return false;
  }
};

// Heads that do not fit their input, and one of which nothing is used.
template <class Block, class Takes = void>
struct wrong_heads : heads_message {};
template <class Block>
struct unused_head : unused_head_message {};

template <class... Chains>
struct made_of<multi::Heads<Chains...>> {
  static constexpr part_kind as = part_kind::block;
  static constexpr std::string_view name = "Heads";
  static constexpr std::size_t heads = sizeof...(Chains);
  static constexpr bool is_right = heads > 0 && heads <= most_tensors;
  using parts = pack<Chains...>;
  using policy = store_all;
  using wrong = wrong_heads<multi::Heads<Chains...>>;
  using empty = wrong;
  using unused_output = unused_head<multi::Heads<Chains...>>;
  template <class Takes, class...>
  using wrong_ends = wrong_heads<multi::Heads<Chains...>, Takes>;
  template <class... Parts>
  using with = multi::Heads<Parts...>;

  static constexpr void join(const value_list& value, const description* chains, description& out) {
    if (heads + value.count - 1 > most_tensors) return; // with those that pass by
    for (std::size_t c = 0; c < heads; ++c) {
      if (!makes_one_tensor(chains[c])) return;
      out.after.push_back(chains[c].after[0]);
      out.depends[c] = 1;
    }
    out.accepts = true;
    out.together = true;
    out.pass_by(value);
  }

  // The last layer of a head writes to the block's tensor. The first one adds to the gradient of the others where it can.
  static constexpr chain_ends ends(const element_facts& first, const element_facts&) {
    return {.adds_input_gradient = first.adds};
  }

  static constexpr stage as_stage(const chain_facts* chains) {
    stage s = stage_without_chains();
    for (std::size_t c = 0; c < heads; ++c) { // backward begins with the last head, which writes where the others add
      add_chain(s, chains[c], {.adds_gradient = c + 1 < heads});
      s.reads_output = s.reads_output || chains[c].reads_output;
    }
    return s;
  }

  template <class Queue, class AllChains, class Frame>
  static void forward(Queue& queue, const AllChains& chains, const Frame& block, bool tape, bool output) {
    for (std::size_t c = 0; c < heads; ++c) {
      Frame inside = chains[c].enter(block);
      inside.outputs = one_tensor(block.outputs[c]);
      forward_chain(queue, chains[c], inside, tape, output);
    }
  }

  template <class Queue, class AllChains, class Frame>
  static void backward(Queue& queue, const AllChains& chains, const Frame& block) {
    for (std::size_t c = heads; c-- > 0;) {
      Frame inside = chains[c].enter(block);
      inside.outputs = one_tensor(block.outputs[c]);
      inside.output_gradients = one_tensor(block.output_gradients[c]);
      backward_in_turn(queue, chains, c, inside);
    }
  }
};

} // namespace cairn::detail
