// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include <cairn/net/made_of.hpp>
#include <cairn/net/wrong_network.hpp>

namespace cairn {

// N blocks of the same type one after another, each with parameters of its own. The block's output must have the
// shape of its input. It costs the compiler one block, not N.
template <std::size_t N, class Block>
struct Repeat {};

} // namespace cairn

namespace cairn::detail {

template <std::size_t N, class Block>
struct made_of<Repeat<N, Block>> {
  static constexpr part_kind as = part_kind::sequence;
  static constexpr std::size_t times = N;
  static constexpr std::string_view name = "Repeat";
  static constexpr bool is_right = N > 0;
  using wrong = empty_repeat<Repeat<N, Block>>;
  using parts = pack<Block>;
  template <class... Parts>
  using with = Repeat<N, Parts...>;
};

} // namespace cairn::detail
