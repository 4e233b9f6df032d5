// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/core/explain.hpp>
#include <cairn/core/shape.hpp>

// Invalid arguments of a trainer's functions, as diagnostics in an error message (core/explain.hpp).
namespace cairn::detail {

// Returns true, or is an error. The static_assert is in a function: one in a class gives clang more errors where it is used.
template <std::size_t Parameters>
constexpr bool has_possible_size() {
  static_assert(Parameters < too_many,
                "trainer: this network has 2^48 parameters or more, which no machine has memory for; make its layers narrower");
  return true;
}

struct inputs_message {
  template <class Inputs>
  static constexpr bool right() {
    static_assert(!Inputs::are_integers,
                  "trainer: this array is for an integers<...> or an integer_constant<...> of the network's "
                  "Inputs; it must be one of std::int32_t, as in a std::vector<int>; see "
                  "wrong_inputs<found, expected>");
    static_assert(Inputs::are_integers || is_right<Inputs>,
                  "trainer: inputs must have the trainer's element type, float where that is one of 16 bits; "
                  "see wrong_inputs<found, expected>");
    return false;
  }
};
struct targets_message {
  template <class Targets>
  static constexpr bool right() {
    static_assert(!Targets::takes_integers, "trainer: this loss takes no targets of this type, but integers: the number of a "
                                            "class for each, as in a std::vector<int>; see wrong_targets<loss, found>");
    static_assert(!Targets::takes_numbers, "trainer: this loss takes no targets of this type, but the numbers that the network "
                                           "makes, as in a std::vector<float>, of a network of double std::vector<double>; see "
                                           "wrong_targets<loss, found>");
    static_assert(Targets::takes_integers || Targets::takes_numbers,
                  "trainer: this loss takes no targets of this type; see wrong_targets<loss, found>");
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
struct wrong_inputs : inputs_message {
  static constexpr bool are_integers = std::is_same_v<Expected, std::int32_t>;
};
template <class Loss, class Found>
struct wrong_targets : targets_message {
  static constexpr bool takes_numbers = Loss::template takes<float, float>;
  static constexpr bool takes_integers = !takes_numbers && Loss::template takes<float, int>;
};
template <class Own, class Other>
struct other_function : function_message {};

} // namespace cairn::detail
