// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/explain.hpp>
#include <cairn/core/fraction.hpp> // percent
#include <cairn/plan/chain.hpp>
#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/route.hpp>
#include <cairn/plan/solve/budget_solver.hpp>

namespace cairn::detail {

// The cheapest known schedule of a chain within `Within` bytes. The next candidate needs fewer bytes than this one. The last
// needs the fewest, and is packed as carefully as for the least bytes that a diagnostic states: what is stated is kept.
template <class Solved, std::size_t Within>
struct solved_candidate {
  static constexpr std::size_t live = [] {
    route counted{Solved::whole};
    return Solved::write(Within, counted).bytes;
  }();
  static constexpr bool is_last = Within <= Solved::front.least.bytes;
  static constexpr auto after() {
    constexpr std::size_t least = Solved::front.least.bytes;
    if constexpr (is_last) return std::type_identity<void>{};
    else return std::type_identity<solved_candidate<Solved, (live > least ? live - 1 : least)>>{};
  }
  using next = typename decltype(after())::type;
  static constexpr void plan(const chain&, route& out) { Solved::write(Within, out); }
};

template <class Solved, std::size_t Bytes>
constexpr auto first_solved() {
  if constexpr (Solved::front.least.bytes > Bytes) return std::type_identity<void>{};
  else return std::type_identity<solved_candidate<Solved, Bytes>>{};
}

// If everything can be stored, there is nothing to solve.
struct everything : store_all {
  using next = void;
};
template <class Source, std::size_t Bytes>
constexpr auto first_candidate() {
  if constexpr (plan_of<Source, store_all>::arena <= Bytes) return std::type_identity<everything>{};
  else return first_solved<budget_solution<Source, Bytes>, Bytes>();
}

struct too_long_message {
  template <class TooLong>
  static constexpr bool right() {
    static_assert(is_right<TooLong>,
                  "budget: this network has too many stages for the compiler to solve; solve it when the program runs, "
                  "with memory_curve, or use another policy, such as sqrt_n; see too_long_for_the_compiler<stages>");
    return false;
  }
};

// A chain that is too long for the compiler: the diagnostic of an error (core/explain.hpp).
template <std::size_t Stages>
struct too_long_for_the_compiler : too_long_message {};

struct fraction_message {
  template <class Policy>
  static constexpr bool right() {
    static_assert(Policy::asked > 0, "budget_fraction<Percent>: it is given in hundredths of store_all's bytes, at least 1");
    return Policy::asked > 0;
  }
};

// The most that a budget's schedule may cost, as a multiple of the cheapest known; without arguments there is no limit.
template <auto...>
struct limited_cost {};
template <auto AtMostDearer>
struct limited_cost<AtMostDearer> {
  static constexpr double most_over_best = 1 + static_cast<double>(AtMostDearer);
};

struct solved_in_the_compiler {
  // A longer chain would take more than some seconds, and then exceed a compiler's own limits.
  static constexpr std::size_t most_different = 128;
  static constexpr std::size_t most_repeated = 1024;

  static constexpr bool accepts(const chain& c) {
    if (c.size() <= most_different) return true;
    if (c.size() > most_repeated) return false;
    const auto table = cost_table_of<most_repeated>(c);
    return find_repetition(table.items, c.size()).different(c.size()) <= most_different / 2;
  }
  template <class Source>
  using refusal = too_long_for_the_compiler<Source::value.size()>;

  template <class Source, std::size_t Bytes>
  using cheapest = typename decltype(first_candidate<Source, Bytes>())::type;
  template <class Source, std::size_t Bytes>
  using tightest = solved_candidate<budget_solution<Source, Bytes>, budget_solution<Source, Bytes>::front.least.bytes>;
};

} // namespace cairn::detail

namespace cairn {

// The cheapest schedule whose arena has at most this many bytes, solved by the compiler from the network's own bytes and FLOPs,
// workspaces and windows of gradients included. peak_activation_bytes is then at most Bytes. A budget that is too small is an
// error that states the least possible number.
//
// The search covers the schedules that keep each stored item until its backward (segment.hpp); for a chain of more than 20
// stages, only those whose segments begin and end at the points of a grid (checkpoint_grid.hpp). tests/bench/RESULTS.md says
// what that costs the network and the compiler. For chains of more than 150 stages the solver does not try to save the last few
// values: schedules that do would run each stage hundreds of times, and no compiler could plan them. A chain of more than 128
// stages, or of more than 1024 that repeat themselves, is refused: memory_curve solves it at run time, as it does budgets that
// are known only then.
//
// Around a block inside a network it limits the block's own tape and workspace, but not the values at its two ends, which
// belong to the network. It weighs the block's own peak alone: how much of it is stored while the stages after the block run is
// not limited. Other policies store fewer bytes meanwhile (chain::is_inside()).
//
// Where the cheapest schedule known for so few bytes cannot be packed into them, the next one that can is taken, and
// trained::over_best says how many times the FLOPs that is; summary() and pictures say it too. budget<51_MiB, percent<5>> is an
// error instead where it is more than 5 % dearer.
template <std::size_t Bytes, auto... AtMostDearer>
  requires(sizeof...(AtMostDearer) <= 1)
struct budget : detail::solved_in_the_compiler, detail::limited_cost<AtMostDearer...> {
  static constexpr std::size_t bytes = Bytes;
};

// A budget of `Percent` hundredths of what store_all needs.
template <std::size_t Percent, auto... AtMostDearer>
  requires(sizeof...(AtMostDearer) <= 1)
struct budget_fraction : detail::solved_in_the_compiler, detail::limited_cost<AtMostDearer...>, detail::fraction_message {
  static constexpr std::size_t asked = Percent;
  static constexpr std::size_t percent = Percent;
};

} // namespace cairn
