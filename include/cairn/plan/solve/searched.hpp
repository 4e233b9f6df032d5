// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/plan/route.hpp>
#include <cairn/plan/solve/cost_table.hpp>
#include <cairn/plan/solve/short_search.hpp>

namespace cairn::detail {

// A short search in constant expressions: so many states in one of them, then the next goes on, with more room where
// that is needed, so that no compiler's limit for one is reached. `Source::value` is the chain.
inline constexpr std::size_t states_at_once = 512;

template <class Source, std::size_t Budget, std::size_t Room = states_at_once>
struct first_round {
  static constexpr auto entries = cost_table_of<Source::value.size()>(Source::value);
  static constexpr std::size_t room =
      Room; // depends on the arguments: a file that searches nothing makes none of it
  static constexpr short_search<room> search = [] {
    short_search<room> s{Source::value, entries.data(), Budget};
    s.run(states_at_once);
    return s;
  }();
};
template <class Before>
struct next_round {
  static constexpr std::size_t room = Before::search.is_full() ? 2 * Before::room : Before::room;
  static constexpr short_search<room> search = [] {
    short_search<room> s{Before::search};
    s.run(states_at_once);
    return s;
  }();
};
template <class Round>
constexpr auto last_round() {
  if constexpr (Round::search.is_done()) return Round{};
  else return last_round<next_round<Round>>();
}

// The cheapest of all schedules of a chain whose live bytes keep a budget, if found().
template <class Source, std::size_t Budget>
struct searched {
  static constexpr const auto& search = decltype(last_round<first_round<Source, Budget>>())::search;

  static constexpr void plan(const chain&, route& out) { search.write(out); }
};

} // namespace cairn::detail
