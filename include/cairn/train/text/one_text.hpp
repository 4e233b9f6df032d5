// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <cairn/core/explain.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/core/tensor_types.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/program.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/net/unroll.hpp>

// The network of a text, for the next tokens of one text only.
namespace cairn::detail {

// A network that takes N tokens in place of those that it says. Its parameters are the same.
template <class Part, std::size_t N>
struct for_tokens : type_of<Part> {};
template <std::size_t Tokens, std::size_t N>
struct for_tokens<Inputs<integers<Tokens>>, N> : type_of<Inputs<integers<N>>> {};
template <class Parts, std::size_t N>
struct first_for_tokens;
template <class First, class... Rest, std::size_t N>
struct first_for_tokens<pack<First, Rest...>, N> : type_of<Sequential<typename for_tokens<First, N>::type, Rest...>> {};
template <class Part, std::size_t N>
  requires(made_of<Part>::as == part_kind::sequence && made_of<Part>::times == 1)
struct for_tokens<Part, N> : first_for_tokens<typename made_of<Part>::parts, N> {};

// How many tokens a network takes, or 0 if it takes anything else.
template <class Plan>
constexpr std::size_t tokens_of() {
  const bool takes_tokens = Plan::inputs.count == 1 && Plan::constants.count == 0 && Plan::inputs[0].type == element::int32 &&
                            Plan::inputs[0].rank() == 1 && Plan::outputs[0].rank() == 2 &&
                            Plan::outputs[0][0] == Plan::inputs[0][0];
  return takes_tokens ? Plan::inputs[0][0] : 0;
}

// Does a layer make of each token what it makes of that token alone, but for its position, or keep what it needs of earlier ones?
template <class Layer>
concept takes_tokens_apart = requires { requires Layer::takes_tokens_apart; };

// The first layer of a network that does not; void if there is none. An Unroll goes through the tokens in order.
template <class Blueprint, class Elements = typename Blueprint::elements,
          class Indices = std::make_index_sequence<Elements::size>>
struct joining_tokens;
template <class Found, class... Rest>
struct first_found : type_of<Found> {};
template <class Next, class... Rest>
struct first_found<void, Next, Rest...> : first_found<Next, Rest...> {};
template <class Block, class Blueprints>
struct joining_in_block;
template <class Block, class... Blueprints>
struct joining_in_block<Block, pack<Blueprints...>> : first_found<void, typename joining_tokens<Blueprints>::type..., void> {};
template <std::size_t Steps, class Cell, class Policy, bool LastOnly, class... Blueprints>
struct joining_in_block<Unroll<Steps, Cell, Policy, LastOnly>, pack<Blueprints...>>
    : type_of<Unroll<Steps, Cell, Policy, LastOnly>> {};
template <class Blueprint, class... Elements, std::size_t... I>
struct joining_tokens<Blueprint, pack<Elements...>, std::index_sequence<I...>> {
  template <std::size_t K, class Element>
  static auto of() {
    if constexpr (is_block<Element>) return joining_in_block<Element, typename Blueprint::template inner<K>::type>{};
    else return type_of<std::conditional_t<takes_tokens_apart<Element>, void, Element>>{};
  }
  using type = typename first_found<void, typename decltype(of<I, Elements>())::type..., void>::type;
};

// Calls f(layer, elements that it keeps of each token) for each layer that keeps some; `layer` is its number.
template <class T, class Queue, class F>
constexpr void for_each_keeper(const program<T, Queue>& p, std::uint32_t begin, const F& f) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto& e = p.at(i);
    const std::uint32_t layer = begin + p.leaf_begin[i];
    if (e.keeps > 0) f(layer, e.keeps);
    for (const auto& chain : e.chains) for_each_keeper(*chain.code, layer + chain.leaf_begin, f);
  }
}

} // namespace cairn::detail
