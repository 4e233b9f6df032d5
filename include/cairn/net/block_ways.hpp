// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/pack.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/route.hpp>

// The ways of a block: policies of its chains, of which a budget around the whole network chooses one (net/ways.hpp). Each way
// stores less than the one before it, and recomputes more:
//
//   0  the block as it was typed
//   1  what is cheap is recomputed
//   2  all that has no parameters is recomputed: attention, activations, and what is cheap
//   3  only the block's input is stored
//
// A block that has other ways says offers_ways, and names them: policies_in_way<Way>, a pack of the policies of its chains in
// that way. Blocks whose policy was typed keep it.
namespace cairn::detail {

inline constexpr std::size_t way_count = 4;

// Recomputes the whole chain from its input, once.
using recompute_whole = every<static_cast<std::size_t>(1) << 20>;

// Recomputes the stages that have no parameters and those that are cheap.
struct recompute_without_parameters {
  static constexpr void plan(const chain& c, route& out) {
    const double most = most_of_cheap(c);
    out.forward(0, c.size());
    walk_recomputing(c, out, 0, c.size(),
                     [&](std::size_t position) { return c[position].parameters == 0 || operations_a_byte(c[position]) <= most; });
  }
};

template <class Block>
concept has_own_ways = requires { made_of<Block>::offers_ways; };

template <class Block>
inline constexpr bool offers_ways = [] {
  if constexpr (!is_block<Block> || adds_a_schedule<Block>) return false;
  else if constexpr (has_own_ways<Block>) return made_of<Block>::offers_ways;
  else if constexpr (requires { typename made_of<Block>::policies; }) return false;
  else return std::is_same_v<typename made_of<Block>::policy, store_all>;
}();

// Is it worth a search even if it is the only block? A block that says offers_ways_alone is a long chain.
template <class Block>
inline constexpr bool offers_ways_alone = [] {
  if constexpr (requires { made_of<Block>::offers_ways_alone; }) return made_of<Block>::offers_ways_alone;
  else return false;
}();

// The policy of a chain of a block in one of its ways.
template <class Block, std::size_t Chain, std::size_t Way>
struct policy_in_way {
  using type = pack_element<Way - 1, pack<recompute_cheap, recompute_without_parameters, recompute_whole>>;
};
template <class Block, std::size_t Chain>
struct policy_in_way<Block, Chain, 0> : policy_of_chain<Block, Chain> {};
template <has_own_ways Block, std::size_t Chain, std::size_t Way>
  requires(Way > 0)
struct policy_in_way<Block, Chain, Way> {
  using type = pack_element<Chain, typename made_of<Block>::template policies_in_way<Way>>;
};

} // namespace cairn::detail
