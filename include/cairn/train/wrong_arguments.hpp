// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/explain.hpp>

// Arguments of a trainer's functions that cannot be there, as diagnostics of an error (core/explain.hpp).
namespace cairn::detail {

struct inputs_message {
  template <class Inputs>
  static constexpr bool right() {
    static_assert(is_right<Inputs>, "trainer: inputs must have the trainer's element type, float where that is one of 16 bits; "
                                    "see wrong_inputs<found, expected>");
    return false;
  }
};
struct targets_message {
  template <class Targets>
  static constexpr bool right() {
    static_assert(is_right<Targets>, "trainer: this loss takes no targets of this type; see wrong_targets<loss, found>");
    return false;
  }
};
struct function_message {
  template <class Networks>
  static constexpr bool right() {
    static_assert(is_right<Networks>, "trainer: the parameters of a network that computes something else have no place here; see "
                                      "other_function<this network, that network>");
    return false;
  }
};

template <class Found, class Expected>
struct wrong_inputs : inputs_message {};
template <class Loss, class Found>
struct wrong_targets : targets_message {};
template <class Own, class Other>
struct other_function : function_message {};

} // namespace cairn::detail
