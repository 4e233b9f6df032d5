// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <cairn/core/pack.hpp>
#include <cairn/net/elements.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/sequential.hpp>

// How the Sequentials of a network are nested, and which stages take one place. The flat chain that runs has lost this; names
// need it.
namespace cairn::detail {

// The number of places that a part takes in the Sequential around it, where PyTorch would have the same layers. A Repeat takes
// those of all its blocks, a type with takes_no_place none, and a block that computes the same as its chain those of the chain.
template <class T>
constexpr std::size_t places_of();
template <class Parts>
struct places_of_parts;
template <class... Parts>
struct places_of_parts<pack<Parts...>> {
  static constexpr std::size_t value = [] {
    std::size_t sum = 0;
    for (const std::size_t count : {std::size_t{0}, places_of<Parts>()...}) sum += count;
    return sum;
  }();
};
template <class T>
constexpr std::size_t places_of() {
  if constexpr (requires { requires T::takes_no_place; }) return 0;
  else if constexpr (is_sequential<T> || takes_one_place<T>) return 1;
  else if constexpr (made_of<T>::as == part_kind::sequence)
    return made_of<T>::times * places_of_parts<typename made_of<T>::parts>::value;
  else if constexpr (is_transparent<T>) return places_of_parts<typename made_of<T>::parts>::value;
  else return 1;
}

// A part of a chain as a text: '.' is a stage, a Sequential is in parentheses, and stages that take one place are in brackets.
template <class T>
struct nesting_of {
  static constexpr std::size_t length = 1;
  static constexpr bool nests = false;
  static constexpr char* write(char* out) {
    *out = '.';
    return out + 1;
  }
};
template <class Parts, bool Plain = is_plain<Parts>>
struct nesting_of_parts;
template <class... Parts>
struct nesting_of_parts<pack<Parts...>, true> {
  static constexpr std::size_t length = sizeof...(Parts);
  static constexpr bool nests = false;
  static constexpr char* write(char* out) {
    for (std::size_t i = 0; i < length; ++i) *out++ = '.';
    return out;
  }
};
template <class... Parts>
struct nesting_of_parts<pack<Parts...>, false> {
  static constexpr std::size_t length = [] {
    std::size_t sum = 0;
    for (const std::size_t part : {std::size_t{0}, nesting_of<Parts>::length...}) sum += part;
    return sum;
  }();
  static constexpr bool nests = [] {
    for (const bool part : {false, nesting_of<Parts>::nests...})
      if (part) return true;
    return false;
  }();
  static constexpr char* write(char* out) {
    using writer = char* (*)(char*);
    constexpr std::array<writer, sizeof...(Parts) + 1> writers{&nesting_of<Parts>::write..., nullptr};
    for (std::size_t i = 0; i < sizeof...(Parts); ++i) out = writers[i](out);
    return out;
  }
};
template <class T>
  requires(made_of<T>::as == part_kind::sequence) //
struct nesting_of<T> {
  using once = nesting_of_parts<typename made_of<T>::parts>;
  static constexpr bool encloses = is_sequential<T> || takes_one_place<T>;
  static constexpr std::size_t length = made_of<T>::times * once::length + (encloses ? 2 : 0);
  static constexpr bool nests = encloses || once::nests;
  static constexpr char* write(char* out) {
    if (encloses) *out++ = is_sequential<T> ? '(' : '[';
    for (std::size_t i = 0; i < made_of<T>::times; ++i) out = once::write(out);
    if (encloses) *out++ = is_sequential<T> ? ')' : ']';
    return out;
  }
};

// The text of the chain of a body, without the parentheses of the body; empty if there are no others.
template <class Body>
struct nesting_of_body : nesting_of<Body> {};
template <class... Layers>
struct nesting_of_body<Sequential<Layers...>> : nesting_of_parts<pack<Layers...>> {};

template <class Body>
struct nesting {
  using marks = nesting_of_body<Body>;
  static constexpr auto text = [] {
    std::array<char, marks::nests ? marks::length : 1> out{};
    if constexpr (marks::nests) marks::write(out.data());
    return out;
  }();
  static constexpr std::string_view value{text.data(), marks::nests ? marks::length : 0};
};

} // namespace cairn::detail
