// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <cairn/core/pack.hpp>
#include <cairn/net/made_of.hpp>

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
  static auto make(std::index_sequence<I...>) -> pack<pack_element<from[I][1], pack_element<from[I][0], pack<Packs...>>>...>;
  using type = decltype(make(std::make_index_sequence<size>{}));
};

// A network as a flat list: its elements are the types that it contains, each as often as it is written; its stages are the
// elements in the order in which they run, where a Repeat runs the same elements again and again. This template: a layer, or a
// block that is one stage (a residual block, a nested checkpoint).
template <class T>
struct flattened {
  using elements = pack<T>;
  static constexpr std::size_t stages = 1;

  static constexpr std::uint32_t* write(std::uint32_t* order, std::uint32_t first) {
    *order = first;
    return order + 1;
  }
};

// The parts of a sequence, once.
template <class Parts, bool Plain>
struct flattened_parts;
template <class... Parts>
struct flattened_parts<pack<Parts...>, true> { // nothing to flatten: the usual network
  using elements = pack<Parts...>;
  static constexpr std::size_t stages = sizeof...(Parts);

  static constexpr std::uint32_t* write(std::uint32_t* order, std::uint32_t first) {
    for (std::size_t i = 0; i < stages; ++i) order[i] = first + static_cast<std::uint32_t>(i);
    return order + stages;
  }
};
template <class... Parts>
struct flattened_parts<pack<Parts...>, false> {
  using elements = typename joined<typename flattened<Parts>::elements...>::type;
  static constexpr std::size_t stages = [] {
    std::size_t sum = 0;
    for (const std::size_t s : {std::size_t{0}, flattened<Parts>::stages...}) sum += s;
    return sum;
  }();

  static constexpr std::uint32_t* write(std::uint32_t* order, std::uint32_t first) {
    using writer = std::uint32_t* (*)(std::uint32_t*, std::uint32_t);
    constexpr std::array<writer, sizeof...(Parts) + 1> writers{&flattened<Parts>::write..., nullptr};
    constexpr std::array<std::uint32_t, sizeof...(Parts) + 1> sizes{
        static_cast<std::uint32_t>(flattened<Parts>::elements::size)..., 0};
    for (std::size_t i = 0; i < sizeof...(Parts); ++i) {
      order = writers[i](order, first);
      first += sizes[i];
    }
    return order;
  }
};

template <class Parts>
inline constexpr bool is_plain = true;
template <class... Parts>
inline constexpr bool is_plain<pack<Parts...>> = [] {
  for (const part_kind as : {part_kind::layer, made_of<Parts>::as...})
    if (as == part_kind::sequence) return false;
  return true;
}();

template <class T>
  requires(made_of<T>::as == part_kind::sequence) //
struct flattened<T> {
  using parts = typename made_of<T>::parts;
  using once = flattened_parts<parts, is_plain<parts>>;
  using elements = typename once::elements;
  static constexpr std::size_t stages = made_of<T>::times * once::stages;

  static constexpr std::uint32_t* write(std::uint32_t* order, std::uint32_t first) {
    if (stages == 0) return order;
    once::write(order, first);
    for (std::size_t i = once::stages; i < stages; ++i) order[i] = order[i - once::stages]; // copied, without a call for each
    return order + stages;
  }
};

// The element of each stage.
template <class Body>
constexpr auto order_of() {
  std::array<std::uint32_t, flattened<Body>::stages + 1> order{};
  flattened<Body>::write(order.data(), 0);
  return order;
}

// The first layer of a network, at any depth.
template <class Body, bool Block = is_block<pack_element<0, typename flattened<Body>::elements>>>
struct first_layer : type_of<pack_element<0, typename flattened<Body>::elements>> {};
template <class Body>
struct first_layer<Body, true>
    : first_layer<pack_element<0, typename made_of<pack_element<0, typename flattened<Body>::elements>>::parts>> {};

} // namespace cairn::detail
