// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <type_traits>

#include <cairn/net/elements.hpp>
#include <cairn/net/one_chain.hpp>
#include <cairn/net/wrong_network.hpp>
#include <cairn/plan/checked_policy.hpp>
#include <cairn/plan/policies.hpp>

namespace cairn {

// The same function as Net, with another schedule: Policy decides which activations are stored between forward and backward and
// which are recomputed. No bit of any output or gradient depends on it.
//
// Around a whole network, Policy plans all of it. Inside a network, a checkpoint is a block that stores between its forward and
// its backward only what its own policy stores.
template <class Policy, class Net>
struct checkpoint {};

} // namespace cairn

namespace cairn::detail {

// Has a policy a number of 0 where that is not allowed, as every<0>? Then the policy is itself the diagnostic of the error.
template <class Policy>
inline constexpr bool asks_for_nothing = [] {
  if constexpr (requires { Policy::asked; }) return Policy::asked == 0;
  else return false;
}();

template <class Policy, class Net>
struct made_of<checkpoint<Policy, Net>> : one_chain<Net> {
  using policy = Policy;
  static constexpr std::string_view name = "checkpoint";
  static constexpr bool is_transparent = true; // it computes what its part computes
  static constexpr bool is_right = !asks_for_nothing<Policy> && checkpoint_policy<Policy>;
  using wrong =
      std::conditional_t<asks_for_nothing<Policy>, Policy, checked_policy<Policy, flattened<Net>::stages, policy_fault::no_plan>>;
  using empty = empty_checkpoint<checkpoint<Policy, Net>>;
  template <class... Parts>
  using with = checkpoint<Policy, Parts...>;
};

} // namespace cairn::detail
