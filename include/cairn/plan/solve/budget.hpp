// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/plan/route.hpp>
#include <cairn/plan/solve/searched.hpp>
#include <cairn/plan/solve/short_search.hpp>
#include <cairn/plan/solve/slots.hpp>

namespace cairn {

namespace detail {

// Of all schedules of a short chain, the cheapest of those that live in fewer than so many bytes.
template <class Source, std::size_t Live>
struct searched_candidate;

template <class Source, std::size_t Live>
constexpr auto search_below() {
  if constexpr (Live == 0) return std::type_identity<void>{};
  else if constexpr (!searched<Source, Live - 1>::search.found()) return std::type_identity<void>{};
  else return std::type_identity<searched_candidate<Source, Live>>{};
}

template <class Source, std::size_t Live>
struct searched_candidate {
  static constexpr std::size_t live = searched<Source, Live - 1>::search.bytes();
  using next = typename decltype(search_below<Source, live>())::type;
  static constexpr void plan(const chain& c, route& out) { searched<Source, Live - 1>::plan(c, out); }
};

// One schedule of a solved chain: that for so many slots. Behind the tightest of them come, of a short chain, all
// schedules that live in fewer bytes than that one.
template <class Source, std::size_t Bytes, std::size_t Slots>
struct slot_candidate {
  using solution = slot_solution<Source, Bytes>;

  static constexpr auto after() {
    if constexpr (Slots != solution::tightest)
      return std::type_identity<slot_candidate<Source, Bytes, solution::fitting(Slots, Bytes)>>{};
    else if constexpr (!is_searched(solution::stages)) return std::type_identity<void>{};
    else return search_below<Source, solution::least_bytes>();
  }
  using next = typename decltype(after())::type;
  static constexpr void plan(const chain&, route& out) { solution::walk(Slots, out); }
};

struct solved_by_slots {
  template <class Source, std::size_t Bytes>
  using cheapest =
      slot_candidate<Source, Bytes,
                     slot_solution<Source, Bytes>::fitting(slot_solution<Source, Bytes>::slots + 1, Bytes)>;
  template <class Source, std::size_t Bytes>
  using tightest = slot_candidate<Source, Bytes, slot_solution<Source, Bytes>::tightest>;
};

} // namespace detail

// The cheapest schedule whose arena keeps within this many bytes, solved by the compiler from the network's own bytes and
// FLOPs, workspaces included. peak_activation_bytes is then at most Bytes. A budget that is too small is an error that
// states the least possible number: of all schedules there are, if the chain has at most longest_searched stages
// (short_search.hpp); of those that keep what they keep until its backward, if it is longer.
//
// The cost is at most 3 % above that of the exact solver for the chains in tests/plan/solve/budget.cpp; it is optimal among
// schedules that keep what they keep until its backward up to the rounding of bytes to slots (see slots.hpp and
// stretch.hpp). Sixteen stages take about a second to compile, thirty-two a few; of a chain that repeats itself only the
// stretches that differ are solved. For a budget that is known only when the program runs, see solver.hpp.
template <std::size_t Bytes>
struct budget : detail::solved_by_slots {
  static constexpr std::size_t bytes = Bytes;
};

// A budget of so many hundredths of what store_all needs.
template <std::size_t Percent>
struct budget_fraction : detail::solved_by_slots {
  static_assert(Percent > 0,
                "budget_fraction<Percent>: it is given in hundredths of store_all's bytes, at least 1");
  static constexpr std::size_t percent = Percent;
};

} // namespace cairn
