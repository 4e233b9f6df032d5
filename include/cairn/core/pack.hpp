// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// A list of types, one of them at each position.
template <class... Types>
struct pack {
  static constexpr std::size_t size = sizeof...(Types);
};

template <class T>
struct type_of {
  using type = T;
};

template <std::size_t Position, class T>
struct leaf {};

template <class Positions, class... Types>
struct leaves;
template <std::size_t... Positions, class... Types>
struct leaves<std::index_sequence<Positions...>, Types...> : leaf<Positions, Types>... {};

// Finds the base leaf<Position, ?> by conversion, without recursion over the list.
template <std::size_t Position, class T>
type_of<T> find(leaf<Position, T>*);

template <class Pack>
struct leaves_of;
template <class... Types>
struct leaves_of<pack<Types...>> {
  using type = leaves<std::make_index_sequence<sizeof...(Types)>, Types...>;
};

// The type at a position of a pack.
template <std::size_t Position, class Pack>
using pack_element = typename decltype(find<Position>(static_cast<typename leaves_of<Pack>::type*>(nullptr)))::type;

} // namespace cairn::detail
