// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/plan/memory_plan.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/proof.hpp>
#include <cairn/plan/route.hpp>
#include <cairn/plan/schedule.hpp>

namespace cairn::detail {

// The same schedule in an array of just its size.
template <std::size_t Count, std::size_t Capacity>
constexpr schedule<Count> trim(const schedule<Capacity>& roomy) {
  schedule<Count> out{{}, Count, roomy.loss, roomy.lasting, roomy.lasting_output};
  op* const to = out.storage.data();
  const op* const from = roomy.storage.data();
  for (std::size_t t = 0; t < Count; ++t) to[t] = from[t];
  return out;
}

// The buffers that are arranged together, and their arrangement by one attempt.
template <class Plan, part Which>
inline constexpr auto chosen = select(Plan::lives, Plan::schedule.loss, Which);

template <class Plan, part Which>
constexpr std::size_t goal() {
  constexpr std::size_t bound = chosen<Plan, Which>.bound;
  return Which == part::whole && bound < Plan::enough ? Plan::enough : bound;
}

// The rounds of attempts may take that many looks at a buffer in all: fewer where another candidate follows.
template <class Plan>
inline constexpr std::size_t effort = Plan::enough != 0 && Plan::is_followed ? 20'000 : 200'000;

template <class Plan, part Which, attempt How>
inline constexpr auto arranged = [] {
  auto out = chosen<Plan, Which>;
  out.extent =
      arrange_by<decltype(out)::capacity>(How, out.buffers.data(), out.count, goal<Plan, Which>(), out.fence, effort<Plan>);
  return out;
}();

// The best of this attempt and of those after it, which are made only when it does not reach the goal.
template <class Plan, part Which, attempt How>
constexpr const auto& best_from() {
  constexpr const auto& one = arranged<Plan, Which, How>;
  if constexpr (How == last_attempt || one.extent <= goal<Plan, Which>()) {
    return one;
  } else {
    constexpr const auto& other = best_from<Plan, Which, next(How)>();
    if constexpr (other.extent < one.extent) return other;
    else return one;
  }
}

// So few buffers are arranged by all attempts of one pass in one constant expression, which costs a compiler less than one for
// each: what is evaluated is copied into a constant and out of it.
inline constexpr std::size_t few_buffers = 64;
template <class Plan, part Which>
inline constexpr auto arranged_in_one_pass = [] {
  auto out = chosen<Plan, Which>;
  out.extent = arrange<decltype(out)::capacity>({out.buffers.data(), out.count}, goal<Plan, Which>(), out.fence, 0);
  return out;
}();

template <class Plan, part Which>
constexpr const auto& best_arranged() {
  if constexpr (chosen<Plan, Which>.count > few_buffers) {
    return best_from<Plan, Which, attempt::slots>();
  } else {
    constexpr const auto& one = arranged_in_one_pass<Plan, Which>;
    if constexpr (one.extent <= goal<Plan, Which>()) {
      return one;
    } else {
      constexpr const auto& other = best_from<Plan, Which, first_of_rounds>();
      if constexpr (other.extent < one.extent) return other;
      else return one;
    }
  }
}

template <class Plan>
constexpr std::size_t arena_of() {
  if constexpr (Plan::whole.lent) {
    const std::size_t up = best_arranged<Plan, part::up>().extent;
    const std::size_t back = best_arranged<Plan, part::back>().extent;
    return up > back ? up : back;
  } else {
    return best_arranged<Plan, part::whole>().extent;
  }
}

template <class Plan>
constexpr auto plan_memory() {
  if constexpr (Plan::whole.lent)
    return write_places(Plan::lives, Plan::schedule.ops(), best_arranged<Plan, part::up>(), best_arranged<Plan, part::back>());
  else
    return write_places(Plan::lives, Plan::schedule.ops(), best_arranged<Plan, part::whole>(),
                        arrangement<Plan::lives.capacity>{});
}

template <class Policy>
constexpr std::size_t count_moves(const chain& c) {
  route r{c};
  Policy::plan(c, r);
  return r.size();
}

template <class Policy, std::size_t Moves>
constexpr std::array<route_step, Moves> make_moves(const chain& c) {
  std::array<route_step, Moves> moves{};
  route r{c, moves.data()};
  Policy::plan(c, r);
  return moves;
}

// The route of a policy along a chain, which may still be wrong: see policy_fault_of.
template <class Source, checkpoint_policy Policy>
struct route_of {
  static constexpr std::size_t move_count = count_moves<Policy>(Source::value);
  static constexpr auto moves = make_moves<Policy, move_count>(Source::value);
};

// The whole plan of one chain under one policy. `Source::value` is the chain, a static constant; the policy forward_pass gives
// the plan of an evaluation. Every member is a constant of its own evaluation, so that a thousand stages stay inside every
// compiler's default limits; that is why this repeats the steps of plan_route. The types of members are written out, except
// that of `moves`: so a member is evaluated when it is first used, and `arena` alone does not wait for the place of every
// operand. An arena of at most `Enough` bytes need not be made smaller.
template <class Source, checkpoint_policy Policy, std::size_t Enough = 0>
struct plan_of {
  static constexpr std::size_t enough = Enough;
  static constexpr bool is_followed = [] { // by a candidate for the same budget
    if constexpr (requires { Policy::is_last; }) return !Policy::is_last;
    else return false;
  }();
  static constexpr chain whole = Source::value;
  static constexpr std::size_t stages = whole.size();
  static constexpr std::size_t move_count = route_of<Source, Policy>::move_count;
  static constexpr auto moves = route_of<Source, Policy>::moves;
  static constexpr detail::demands<move_count> demands = look_back<stages, move_count>(whole, moves);
  static constexpr std::size_t most_ops = 2 * move_count + 3 * stages + 2; // see complete()
  static constexpr detail::schedule<most_ops> roomy = write_ops<most_ops, stages>(whole, moves, demands);
  static constexpr detail::schedule<roomy.count> schedule = trim<roomy.count>(roomy);
  static constexpr journey kind = demands.up == move_count ? journey::evaluation : journey::training;
  static constexpr verdict proof = prove<stages>(whole, schedule.ops(), kind);
  static constexpr std::size_t windows = kind == journey::training ? whole.windows.size() : 0;
  static constexpr std::size_t buffers = most_buffers(whole, schedule.ops());
  static constexpr lifetimes<schedule.count, buffers, windows> lives =
      trace<stages, schedule.count, buffers, windows>(whole, schedule.ops());
  static constexpr std::size_t arena = arena_of<plan_of>(); // of `memory`
  static constexpr memory_plan<schedule.count, windows> memory = plan_memory<plan_of>();
};

// The most bytes that a policy allows for the arena of a chain.
template <class Source, keeps_a_budget Policy>
constexpr std::size_t most_bytes() {
  if constexpr (requires { Policy::bytes; }) return Policy::bytes;
  else return plan_of<Source, store_all>::arena * Policy::percent / 100;
}

// The first candidate whose arena keeps a budget; void if none does. Live buffers are nearly always packed without a gap, and
// then it is the very first.
template <class Source, std::size_t Bytes, class Candidate>
struct first_that_fits {
  template <class Next>
  static constexpr auto find() {
    if constexpr (plan_of<Source, Candidate, Bytes>::arena <= Bytes) return std::type_identity<Candidate>{};
    else return std::type_identity<typename first_that_fits<Source, Bytes, Next>::type>{};
  }
  using type = typename decltype(find<typename Candidate::next>())::type;
};
template <class Source, std::size_t Bytes>
struct first_that_fits<Source, Bytes, void> {
  using type = void;
};
template <class Source, class Policy>
using fitting = typename first_that_fits<Source, most_bytes<Source, Policy>(),
                                         typename Policy::template cheapest<Source, most_bytes<Source, Policy>()>>::type;

// The least arena of a candidate and those after it.
template <class Source, class Candidate>
constexpr std::size_t least_arena() {
  if constexpr (std::is_void_v<Candidate>) {
    return static_cast<std::size_t>(-1);
  } else {
    constexpr std::size_t own = plan_of<Source, Candidate>::arena;
    constexpr std::size_t others = least_arena<Source, typename Candidate::next>();
    return own < others ? own : others;
  }
}

// The least arena of a chain that the search for a budget finds. If the layout of the fewest bytes has gaps, that of store_all
// may be smaller.
template <class Source, class Policy>
constexpr std::size_t least_bytes_of() {
  constexpr std::size_t tight = least_arena<Source, typename Policy::template tightest<Source, most_bytes<Source, Policy>()>>();
  constexpr std::size_t all = plan_of<Source, store_all>::arena;
  return tight < all ? tight : all;
}

// A policy that keeps a budget is planned as the candidate that fits. Its step may cost more than that of the very first
// candidate, the cheapest schedule known for so few bytes, whose buffers cannot be packed into them: `over_best` times as many
// FLOPs. Readers of summaries and pictures are told, and a policy may set a limit (checked_policy.hpp). A policy that compared
// several chains of one network says what the cheapest of their first candidates costs: least_flops().
template <class Source, keeps_a_budget Policy>
struct plan_of<Source, Policy, 0> : plan_of<Source, fitting<Source, Policy>, most_bytes<Source, Policy>()> {
  static constexpr double over_best = [] {
    using taken = fitting<Source, Policy>;
    using best = typename Policy::template cheapest<Source, most_bytes<Source, Policy>()>;
    constexpr auto cost_of = []<class Candidate>(std::type_identity<Candidate>) {
      return flops(Source::value, plan_of<Source, Candidate, most_bytes<Source, Policy>()>::schedule.ops());
    };
    std::uint64_t least = 0;
    if constexpr (requires { Policy::least_flops(); }) least = Policy::least_flops();
    else if constexpr (std::is_same_v<taken, best>) return 1.0;
    else least = cost_of(std::type_identity<best>{});
    return static_cast<double>(cost_of(std::type_identity<taken>{})) / static_cast<double>(least);
  }();
};
template <class Source, keeps_a_budget Policy>
struct route_of<Source, Policy> : route_of<Source, fitting<Source, Policy>> {};

} // namespace cairn::detail
