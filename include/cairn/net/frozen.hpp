// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include <cairn/net/checked_network.hpp>
#include <cairn/net/one_chain.hpp>
#include <cairn/plan/policies.hpp>

namespace cairn {

// The same function as Block, with parameters that are not trained: for fine-tuning the layers around it. Their gradients are
// not computed and take no memory, on any rank, and an optimizer does not update them. Backward stops at the first layer that
// is trained. Their values come from the seed as usual, or from another model by copy_parameters(). Buffers (BatchNorm's
// running statistics) are still updated in training, as in torch.
//
// Every layer inside that has parameters must be able to leave their gradients out (skips_gradients in layer/layer.hpp), as the
// layers of this library do.
template <class Block>
struct frozen {};

} // namespace cairn

namespace cairn::detail {

struct unfreezable_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>,
                  "frozen: this layer computes the gradients of its parameters in any case; let its backward leave them out "
                  "where call.gradients has no block, and say static constexpr bool skips_gradients = true; see "
                  "unfreezable<layer>");
    return false;
  }
};

// A layer that cannot be inside frozen<>.
template <class Layer>
struct unfreezable : unfreezable_message {};

struct can_freeze {
  template <class L>
  static constexpr bool layer = [] {
    if constexpr (requires(const arguments& in) { L::parameters(in); }) return requires { requires L::skips_gradients; };
    else return true;
  }();
  template <class>
  static constexpr bool group = true;
};

template <class Block>
constexpr auto first_unfreezable() {
  if constexpr (holds<can_freeze, Block>) return type_of<nothing_wrong>{};
  else return type_of<unfreezable<typename first_wrong<can_freeze, Block>::type>>{};
}

template <class Block>
struct made_of<frozen<Block>> : one_chain<Block> {
  using policy = store_all;
  static constexpr std::string_view name = "frozen";
  static constexpr bool is_transparent = true;
  static constexpr bool is_right = holds<can_freeze, Block>;
  using wrong = typename decltype(first_unfreezable<Block>())::type;
  using empty = empty_checkpoint<frozen<Block>>;
  template <class... Parts>
  using with = frozen<Parts...>;
};

template <class Block>
inline constexpr bool freezes<frozen<Block>> = true;

} // namespace cairn::detail
