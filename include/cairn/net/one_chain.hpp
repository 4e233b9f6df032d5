// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include <cairn/net/made_of.hpp>
#include <cairn/net/pass_on.hpp>

namespace cairn::detail {

// A block that is one chain and computes what the chain computes: the base of blocks that do more (see made_of.hpp).
template <class Chain>
struct one_chain {
  static constexpr part_kind as = part_kind::block;
  static constexpr bool is_transparent = false;
  using parts = pack<Chain>;

  static constexpr void join(const value_list&, const description* chain, description& out) { out = *chain; }
  static constexpr chain_ends ends(const element_facts&, const element_facts&) { return {}; }
  static constexpr stage as_stage(const chain_facts* chain) { return stage_of_chain(*chain); }

  template <class Queue, class Chains, class Frame>
  static void forward(Queue& queue, const Chains& chains, const Frame& block, bool tape, bool output) {
    forward_chain(queue, chains[0], chains[0].enter(block), tape, output);
  }
  template <class Queue, class Chains, class Frame>
  static void backward(Queue& queue, const Chains& chains, const Frame& block) {
    backward_chain(queue, chains[0], chains[0].enter(block));
  }
};

} // namespace cairn::detail
