// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <cairn/core/explain.hpp>
#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/route.hpp>
#include <cairn/plan/schedule.hpp>

namespace cairn::detail {

// The reason why a type is not a policy, or cannot plan a chain.
enum class policy_fault : unsigned char {
  none,
  no_plan,      // Policy::plan(chain, route) cannot be called
  not_constant, // ... or is no constant expression
  refuses,      // the policy's own accepts(chain) says no, or no schedule keeps its budget
  no_walk,      // its route is not one forward pass and one backward pass
  missing,      // its route reads what is not there
  too_long,     // its route is longer than this compiler evaluates in one constant
  too_dear,     // it keeps a budget, at a cost above the limit that it sets
};

// Is a route a forward pass, stage by stage, and then a backward pass that begins each stage's backward once, from the last to
// the first? This is checked first, as the later steps have room for such routes only.
constexpr bool walks_up_and_back(const chain& c, std::span<const route_step> moves) {
  std::size_t up = 0;
  std::size_t below = c.size();
  for (const route_step& m : moves) {
    if (m.position >= c.size()) return false;
    if (m.backward) {
      if (up != c.size() || m.position + 1 != below) return false;
      --below;
    } else if (m.position == up) {
      ++up;
    } else if (m.position > up) {
      return false;
    }
  }
  return up == c.size() && below <= c.lowest_backward();
}

// Can the compiler run the policy? It is tried on a chain of one stage, which is quick and runs no solver twice. Only a policy
// that cannot plan that chain is tried on the chain itself.
struct shortest {
  static constexpr std::array<stage, 1> only{};
  static constexpr chain value{.stages = only};
};
template <class Policy, class Source>
concept counts_at_once = requires { typename std::integral_constant<std::size_t, count_moves<Policy>(Source::value)>; };
template <class Policy, class Source>
concept plans_at_once = keeps_a_budget<Policy> || counts_at_once<Policy, shortest> || counts_at_once<Policy, Source>;

template <class Policy, class Source>
constexpr bool accepts() {
  if constexpr (requires { Policy::accepts(Source::value); }) return Policy::accepts(Source::value);
  else return true;
}
template <class Policy, class Source>
constexpr bool accepted() {
  if constexpr (!accepts<Policy, Source>()) return false;
  else if constexpr (keeps_a_budget<Policy>) return !std::is_void_v<fitting<Source, Policy>>;
  else return true;
}

// Can the compiler make the plan's constants? For a long chain the two that take the most steps are tried first, as an
// unfinished constant is an error in everything that uses it.
template <class Plan>
concept ends_within_limits =
    Plan::stages <= 1000 || (requires {
      typename std::integral_constant<bool, bool(prove<Plan::stages>(Plan::whole, Plan::schedule.ops(), Plan::kind))>;
      typename std::integral_constant<
          std::size_t,
          trace<Plan::stages, Plan::schedule.count, Plan::buffers, Plan::windows>(Plan::whole, Plan::schedule.ops()).count>;
    });

// Does a budget cost more than the program allows?
template <class Policy, class Source>
constexpr bool is_too_dear() {
  if constexpr (keeps_a_budget<Policy> && requires { Policy::most_over_best; })
    return plan_of<Source, Policy>::over_best > Policy::most_over_best;
  else return false;
}

// The fault of a policy on the chain Source::value.
template <class Policy, class Source>
inline constexpr policy_fault policy_fault_of = [] {
  if constexpr (!checkpoint_policy<Policy>) {
    return policy_fault::no_plan;
  } else if constexpr (!accepted<Policy, Source>()) {
    return policy_fault::refuses;
  } else if constexpr (!plans_at_once<Policy, Source>) {
    return policy_fault::not_constant;
  } else {
    if constexpr (!walks_up_and_back(Source::value, route_of<Source, Policy>::moves)) return policy_fault::no_walk;
    else if constexpr (!ends_within_limits<plan_of<Source, Policy>>) return policy_fault::too_long;
    else if constexpr (!plan_of<Source, Policy>::proof) return policy_fault::missing;
    else if constexpr (is_too_dear<Policy, Source>()) return policy_fault::too_dear;
    else return policy_fault::none;
  }
}();

struct policy_message {
  template <class Checked>
  static constexpr bool right() {
    static_assert(Checked::fault != policy_fault::no_plan,
                  "checkpoint: the first argument is no policy: plan is missing or has another signature, expected "
                  "static constexpr void plan(const chain&, route&); see checked_policy<type, stages>");
    static_assert(Checked::fault != policy_fault::not_constant,
                  "checkpoint: this policy's plan is no constant expression: is it constexpr, and does it end on this "
                  "network? See checked_policy<type, stages>");
    static_assert(Checked::fault != policy_fault::refuses,
                  "checkpoint: this policy does not accept this network; see checked_policy<type, stages>");
    static_assert(Checked::fault != policy_fault::no_walk,
                  "checkpoint: this policy's route is no walk up and back: expected the forward of every stage once in "
                  "order before the first backward, then the backward of every stage once, the last stage first; see "
                  "checked_policy<type, stages>");
    static_assert(Checked::fault != policy_fault::missing,
                  "checkpoint: this policy's route has a backward that reads what is neither stored nor made again "
                  "before it; see checked_policy<type, stages>");
    static_assert(Checked::fault != policy_fault::too_long,
                  "checkpoint: the plan of so many stages takes more steps than this compiler evaluates: raise its limit "
                  "(-fconstexpr-steps=10000000 with clang, -fconstexpr-ops-limit with g++), or put several layers in one "
                  "block; see checked_policy<type, stages>");
    return Checked::fault == policy_fault::none;
  }
};

// A policy that cannot plan a chain of `Stages` stages: the diagnostic of an error (core/explain.hpp).
template <class Policy, std::size_t Stages, policy_fault Fault>
struct checked_policy : policy_message {
  static constexpr policy_fault fault = Fault;
};

struct budget_message {
  template <class Budget>
  static constexpr bool right() {
    static_assert(is_right<Budget>,
                  "budget: none of the schedules that the compiler searches needs so few bytes (of a chain of more than "
                  "20 stages memory_curve searches more); see budget_of<bytes_given<...>, least_possible_bytes<...>>, and "
                  "give it at least the second");
    return false;
  }
};

// A budget that no schedule of a chain keeps: the diagnostic of an error (core/explain.hpp).
template <std::size_t Given>
struct bytes_given {};
template <std::size_t Least>
struct least_possible_bytes {};
template <class Given, class Least>
struct budget_of : budget_message {};

struct dear_budget_message {
  template <class Budget>
  static constexpr bool right() {
    static_assert(is_right<Budget>,
                  "budget: the cheapest schedule known for so few bytes cannot be packed into them, and the one "
                  "that can costs more than this budget allows; see dear_budget<per_mille_allowed<...>, "
                  "per_mille_dearer<...>>, and allow more, or give it more bytes");
    return false;
  }
};

// A budget whose schedule is too dear: the diagnostic of an error.
template <std::size_t Allowed>
struct per_mille_allowed {};
template <std::size_t Found>
struct per_mille_dearer {};
template <class Allowed, class Found>
struct dear_budget : dear_budget_message {};

template <class Policy, class Source, policy_fault Fault = policy_fault_of<Policy, Source>>
struct policy_diagnostic {
  using type = checked_policy<Policy, Source::value.size(), Fault>;
};
template <class Policy, class Source>
  requires(!accepts<Policy, Source>() && requires { typename Policy::template refusal<Source>; })
struct policy_diagnostic<Policy, Source, policy_fault::refuses> {
  using type = typename Policy::template refusal<Source>;
};
template <keeps_a_budget Policy, class Source>
  requires(accepts<Policy, Source>())
struct policy_diagnostic<Policy, Source, policy_fault::refuses> {
  static constexpr std::size_t given = most_bytes<Source, Policy>();
  static constexpr std::size_t least = [] {
    if constexpr (requires { Policy::least_bytes(); }) return Policy::least_bytes(); // of several chains of one network
    else return least_bytes_of<Source, Policy>();
  }();
  using type = budget_of<bytes_given<given>, least_possible_bytes<least>>;
};
template <class Policy, class Source>
struct policy_diagnostic<Policy, Source, policy_fault::too_dear> {
  static constexpr std::size_t per_mille(double ratio) { return static_cast<std::size_t>((ratio - 1) * 1000 + 0.999); }
  using type = dear_budget<per_mille_allowed<per_mille(Policy::most_over_best)>,
                           per_mille_dearer<per_mille(plan_of<Source, Policy>::over_best)>>;
};
template <class Policy, class Source>
struct policy_diagnostic<Policy, Source, policy_fault::none> {
  using type = nothing_wrong;
};

// The policy, if it can plan the chain. Otherwise there is an error, and store_all replaces it so that no other error follows.
template <class Policy, class Source, class Diagnostic = typename policy_diagnostic<Policy, Source>::type>
using sound_policy = std::conditional_t<Diagnostic::template right<Diagnostic>(), Policy, store_all>;

} // namespace cairn::detail
