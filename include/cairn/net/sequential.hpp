// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/net/made_of.hpp>

namespace cairn {

// One layer after another: the output of each is the input of the next. It may contain layers, blocks and other Sequentials; a
// Sequential inside another is the same chain written in two parts.
template <class... Layers>
struct Sequential {};

} // namespace cairn

namespace cairn::detail {

template <class... Layers>
struct made_of<Sequential<Layers...>> {
  static constexpr part_kind as = part_kind::sequence;
  static constexpr std::size_t times = 1;
  static constexpr bool is_right = true;
  using parts = pack<Layers...>;
  template <class... Parts>
  using with = Sequential<Parts...>;
};

template <class T>
inline constexpr bool is_sequential = false;
template <class... Layers>
inline constexpr bool is_sequential<Sequential<Layers...>> = true;

} // namespace cairn::detail
