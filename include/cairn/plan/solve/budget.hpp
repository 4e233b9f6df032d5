// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/explain.hpp>
#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/route.hpp>
#include <cairn/plan/solve/searched.hpp>
#include <cairn/plan/solve/short_search.hpp>
#include <cairn/plan/solve/slots.hpp>

namespace cairn {

namespace detail {

// One schedule of a solved chain, for a budget of so many bytes.
template <class Solution, std::size_t Slots, std::size_t Bytes>
struct solved_route {
  static constexpr std::size_t enough = Bytes;
  static constexpr void plan(const chain&, route& out) { Solution::walk(Slots, out); }
};

struct budget_sentence {
  template <class Budget>
  static constexpr bool right() {
    static_assert(is_right<Budget>,
                  "budget: no schedule of this network needs so few bytes; see budget_of<bytes_given<...>, "
                  "least_possible_bytes<...>>, and give it at least the second");
    return false;
  }
};

// A budget that no schedule of a chain keeps: the culprit of an error (core/explain.hpp).
template <std::size_t Given>
struct bytes_given {};
template <std::size_t Least>
struct least_possible_bytes {};
template <class Given, class Least>
struct budget_of : budget_sentence {};

// The cheapest schedule whose arena, as it is laid out, keeps the budget. What lives is nearly always packed without a
// gap; where it is not, the next cheaper schedule is tried. Where no schedule of the solver fits, all schedules of a short
// chain that live in fewer bytes than those are searched; a chain that has a fitting one costs nothing for that.
template <class Source, std::size_t Bytes>
struct within_budget {
  using solution = slot_solution<Source, Bytes>;

  template <std::size_t Slots>
  using route_for = solved_route<solution, Slots, Bytes>;
  template <std::size_t Slots>
  static constexpr std::size_t arena_of = plan_of<Source, route_for<Slots>>::arena;

  template <std::size_t Below>
  static constexpr std::size_t find() {
    constexpr std::size_t best = solution::fitting(Below, Bytes);
    if constexpr (best == solution::tightest) return best;
    else if constexpr (arena_of<best> <= Bytes) return best;
    else return find<best>();
  }
  static constexpr std::size_t slots = find<solution::slots + 1>();
  static constexpr bool is_solved = [] {
    if constexpr (slots != solution::tightest) return true;
    else return arena_of<solution::tightest> <= Bytes;
  }();
  static constexpr std::size_t live = [] {
    constexpr std::size_t least = solution::least_bytes;
    if constexpr (is_solved || !is_searched(solution::stages) || least == 0) return no_budget;
    else return search_within<Source, Bytes, (Bytes < least ? Bytes : least - 1)>();
  }();
  using found = std::conditional_t<live == no_budget, route_for<slots>, searched<Source, live>>;
  static constexpr bool accepts(const chain&) { return is_solved || live != no_budget; }

  template <class Refused>
  static constexpr std::size_t least_arena = [] {
    constexpr std::size_t least = plan_of<Refused, route_for<solution::tightest>>::arena;
    if constexpr (!is_searched(solution::stages)) return least;
    else return least_searched<Refused, solution::least_bytes, least>();
  }();
  template <class Refused>
  using refusal = budget_of<bytes_given<Bytes>, least_possible_bytes<least_arena<Refused>>>;

  static constexpr void plan(const chain& c, route& out) {
    if constexpr (live != no_budget) searched<Source, live>::plan(c, out);
    else solution::walk(slots, out); // the tightest, if it does not fit
  }
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
struct budget {
  template <class Source>
  using on = detail::within_budget<Source, Bytes>;
};

// A budget of so many hundredths of what store_all needs.
template <std::size_t Percent>
struct budget_fraction {
  static_assert(Percent > 0,
                "budget_fraction<Percent>: it is given in hundredths of store_all's bytes, at least 1");

  template <class Source>
  using on = detail::within_budget<Source, plan_of<Source, store_all>::memory.arena * Percent / 100>;
};

} // namespace cairn
