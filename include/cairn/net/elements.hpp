// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <cairn/core/pack.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/sequential.hpp>

namespace cairn::detail {

// One pack out of several, by index arithmetic: item i of the result is item b of pack a.
template <class... Packs>
struct joined {
  static constexpr std::size_t size = [] { // loops over a list, not folds: clang stops at 256 operands
    std::size_t sum = 0;
    for (const std::size_t count : {std::size_t{0}, Packs::size...}) sum += count;
    return sum;
  }();

  static constexpr std::array<std::array<std::size_t, 2>, size + 1> from = [] {
    std::array<std::array<std::size_t, 2>, size + 1> table{};
    std::size_t next = 0, a = 0;
    for (const std::size_t count : {Packs::size..., std::size_t{0}}) {
      for (std::size_t b = 0; b < count; ++b) table[next++] = {a, b};
      ++a;
    }
    return table;
  }();

  template <std::size_t... I>
  static auto make(std::index_sequence<I...>)
      -> pack<pack_element<from[I][1], pack_element<from[I][0], pack<Packs...>>>...>;
  using type = decltype(make(std::make_index_sequence<size>{}));
};

// A network as a flat list: its elements are the types that stand in it, each as often as it was typed; its stages
// are the elements in the order in which they run, where a Repeat runs the same elements again and again.
// Here: a layer, or a block that is one stage (a residual block, a nested checkpoint).
template <class T>
struct flattened {
  using elements = pack<T>;
  static constexpr std::size_t stages = 1;

  static constexpr std::uint32_t* write(std::uint32_t* order, std::uint32_t first) {
    *order = first;
    return order + 1;
  }
};

template <class... Layers>
struct flattened<Sequential<Layers...>> {
  static constexpr bool plain = [] { // nothing to flatten: the usual network
    for (const bool same : {true, std::is_same_v<typename flattened<Layers>::elements, pack<Layers>>...})
      if (!same) return false;
    return true;
  }();

  template <bool Plain, class...>
  struct list {
    using type = pack<Layers...>;
  };
  template <class... Ls>
  struct list<false, Ls...> {
    using type = typename joined<typename flattened<Ls>::elements...>::type;
  };
  using elements = typename list<plain, Layers...>::type;

  static constexpr std::size_t stages = [] {
    std::size_t sum = 0;
    for (const std::size_t s : {std::size_t{0}, flattened<Layers>::stages...}) sum += s;
    return sum;
  }();

  static constexpr std::uint32_t* write(std::uint32_t* order, std::uint32_t first) {
    using writer = std::uint32_t* (*)(std::uint32_t*, std::uint32_t);
    constexpr std::array<writer, sizeof...(Layers) + 1> writers{&flattened<Layers>::write..., nullptr};
    constexpr std::array<std::uint32_t, sizeof...(Layers) + 1> sizes{
        static_cast<std::uint32_t>(flattened<Layers>::elements::size)..., 0};
    for (std::size_t i = 0; i < sizeof...(Layers); ++i) {
      order = writers[i](order, first);
      first += sizes[i];
    }
    return order;
  }
};

template <std::size_t N, class Block>
struct flattened<Repeat<N, Block>> {
  using elements = typename flattened<Block>::elements;
  static constexpr std::size_t stages = N * flattened<Block>::stages;

  static constexpr std::uint32_t* write(std::uint32_t* order, std::uint32_t first) {
    constexpr std::size_t one = flattened<Block>::stages;
    if constexpr (N > 0) flattened<Block>::write(order, first);
    for (std::size_t i = one; i < stages; ++i) order[i] = order[i - one]; // no call for each
    return order + stages;
  }
};

// Which element each stage is.
template <class Body>
constexpr auto order_of() {
  std::array<std::uint32_t, flattened<Body>::stages + 1> order{};
  flattened<Body>::write(order.data(), 0);
  return order;
}

} // namespace cairn::detail
