// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <cairn/core/rooms.hpp>
#include <cairn/plan/chain.hpp>

namespace cairn::plan {

// One step along the chain: the forward or the backward of the stage at a position.
struct route_step {
  std::uint32_t position = 0;
  bool backward = false;

  constexpr bool operator==(const route_step&) const = default;
};

// The forward pass and the backward pass that a policy chooses, as a list of forwards and backwards in order. It determines
// what is stored: a value is stored from the forward that makes it to the last step that reads it, and a later forward of the
// same stage makes it anew. A forward whose results are not read is left out of the schedule, so a policy may ask for more than
// is needed.
//
// The first forwards of all stages come before the first backward, in order; backwards run from the last stage to the first,
// once each. A composite's forward pass ends when its last stage has run for the first time. Forwards between that one and the
// first backward belong to its backward pass, so that none of their results are stored in between. At the root they belong to
// the forward pass: they are better done while there is no gradient yet.
class route {
public:
  constexpr explicit route(const chain& c, route_step* moves = nullptr) : chain_(&c), moves_(moves) {}

  constexpr void forward(std::size_t position) { add({narrow(position), false}); }
  constexpr void backward(std::size_t position) { add({narrow(position), true}); }

  // Forwards of [first, last).
  constexpr void forward(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) forward(i);
  }
  // Backwards of [first, last), the last one first.
  constexpr void backward(std::size_t first, std::size_t last) {
    for (std::size_t i = last; i-- > first;) backward(i);
  }
  // Recomputes, from value `first`, everything that the backwards of [first, last) read. The output of the last of these
  // stages is still there if another stage follows, which has just read it.
  constexpr void recompute(std::size_t first, std::size_t last) {
    if (first == last) return;
    forward(first, last - 1);
    if ((*chain_)[last - 1].keeps_tape() || (last == chain_->size() && chain_->is_inside())) forward(last - 1);
  }

  constexpr std::size_t size() const { return size_; }

private:
  // A number that is too large becomes a position that no chain has.
  static constexpr std::uint32_t narrow(std::size_t position) {
    constexpr std::uint32_t most = ~std::uint32_t{0};
    return position < most ? static_cast<std::uint32_t>(position) : most;
  }
  constexpr void add(route_step m) {
    if (moves_ != nullptr) moves_[size_] = m; // without an array it only counts
    ++size_;
  }

  const chain* chain_;
  route_step* moves_;
  std::size_t size_ = 0;
};

} // namespace cairn::plan

namespace cairn::detail {

template <class Policy>
concept plans_a_chain = requires(const chain& c, route& r) {
  { Policy::plan(c, r) } -> std::same_as<void>;
};

// An empty chain, to test which members a type has.
struct no_chain {
  static constexpr chain value{};
};
template <class Policy>
concept keeps_a_budget = requires { typename Policy::template cheapest<no_chain, 0>; };

} // namespace cairn::detail

namespace cairn::plan {} // namespace cairn::plan

namespace cairn::plan {

// A checkpoint policy turns a chain into a route, in a constant expression. It decides what is stored and what is recomputed.
// It cannot change a computed value, as it has no access to any. A type P is a policy if
//   1. P::plan(chain, route) writes a route of this chain, in a constant expression, and the same one for equal chains.
// It may also have
//   accepts(chain)     can it plan this chain? [yes]
//   refusal<Source>    the type that an error shows if it does not accept the chain Source::value [checked_policy]
//   remark             a text about its plans for readers of summary() [nothing]
// Its route need not be right: checked_policy.hpp proves it, and refuses a wrong one with a diagnostic.
//
// A policy that keeps a budget (plan/solve/budget.hpp) has no plan(). It has candidates, and the planner, which alone knows
// where buffers lie, takes the first whose arena fits (plan_of.hpp):
//   bytes or percent          the most bytes of the arena: their number, or hundredths of what store_all needs;
//   cheapest<Source, Bytes>   the first candidate for Source::value: a policy with a member `next`, the candidate to try
//                             after it, void after the last; fewer bytes live from candidate to candidate;
//   tightest<Source, Bytes>   the candidate at which the search for the least possible budget begins.
template <class Policy>
concept checkpoint_policy = detail::plans_a_chain<Policy> || detail::keeps_a_budget<Policy>;

} // namespace cairn::plan
