// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include <cairn/core/shape.hpp>

namespace cairn {

namespace detail {

template <class T>
constexpr std::string_view spelled() {
#if defined(__clang__) || defined(__GNUC__)
  return __PRETTY_FUNCTION__;
#else
  return __FUNCSIG__;
#endif
}

} // namespace detail

// The name of a type as the compiler spells it, without this library's namespace in front. Two compilers may spell a
// template argument differently (8 and 8UL).
template <class T>
constexpr std::string_view type_name() {
  constexpr std::string_view probe = detail::spelled<double>();
  constexpr std::size_t before = probe.find("double");
  constexpr std::size_t after = probe.size() - before - 6;
  std::string_view name = detail::spelled<T>();
  name.remove_prefix(before);
  // g++ appends what it knows of std::string_view; the name ends where that of `double` did.
  name.remove_suffix(after);
  if (name.substr(0, 7) == "cairn::") name.remove_prefix(7);
  return name;
}

// What stands before the first layer of a network.
struct network_input {};

// The joint between two stages. Only a network that is wrong instantiates it, once, at the first joint that does not
// fit: the type is what the compiler shows, with position, producer, what it produces and consumer.
template <std::size_t Position, class Producer, class Produces, class Consumer>
struct joint {
  static_assert(Position == static_cast<std::size_t>(-1),
                "Sequential: the layer at this position does not accept what the layer before it produces; "
                "see joint<position, producer, dims<what it produces>, consumer>");
  static constexpr bool fits = false;
};

} // namespace cairn
