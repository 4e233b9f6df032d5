// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/plan/plan_of.hpp>
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

inline constexpr std::size_t no_budget = static_cast<std::size_t>(-1);

// The budget for live bytes whose schedule lies in an arena of so many bytes, or no_budget. What lives is nearly always
// packed without a gap; where it is not, the next schedule of fewer live bytes is tried.
template <class Source, std::size_t Arena, std::size_t Live>
constexpr std::size_t search_within() {
  using found = searched<Source, Live>;
  if constexpr (!found::search.found()) return no_budget;
  else if constexpr (plan_of<Source, found>::arena <= Arena) return Live;
  else return search_within<Source, Arena, found::search.bytes() - 1>();
}

// The least arena of all schedules that live in fewer bytes than `Live`, or `Known` if that is less.
template <class Source, std::size_t Live, std::size_t Known>
constexpr std::size_t least_searched() {
  if constexpr (Live == 0) {
    return Known;
  } else {
    using found = searched<Source, Live - 1>;
    if constexpr (!found::search.found()) {
      return Known;
    } else {
      constexpr std::size_t arena = plan_of<Source, found>::arena;
      return least_searched<Source, found::search.bytes(), (arena < Known ? arena : Known)>();
    }
  }
}

} // namespace cairn::detail
