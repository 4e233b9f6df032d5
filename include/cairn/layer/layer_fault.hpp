// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/layer/layer.hpp>

namespace cairn {

// What keeps a type from being a layer, in the order in which one would write its members.
enum class layer_fault : unsigned char {
  none,
  no_layer, // neither of the two members that every layer has
  output_shape,
  backward_reads,
  accepts,
  input_shape,
  parameters,
  state,
  flops,
  tape_bytes,
  workspace_bytes,
  flags,
  as_activation,
};

namespace detail {

// All names that a layer may have. A class made of a layer and of these tells which of them the layer has too, as
// whatever it is: such a name is ambiguous there. Asking the layer itself whether it can be called would take a member
// with a wrong signature for one that is absent, and train without its parameters.
struct names_of_layers {
  int output_shape, backward_reads, accepts, input_shape, parameters, state, flops, tape_bytes,
      workspace_bytes, in_place, fuses, adds, as_activation;
};
template <class L>
struct layer_and_names : L, names_of_layers {};

template <class L>
concept names_backward_reads_at_once = requires {
  typename std::integral_constant<reads, L::backward_reads>;
};
template <class L>
concept answers_accepts = requires(const shape& s) {
  { L::accepts(s) } -> std::convertible_to<bool>;
};
template <class L>
concept answers_parameters = requires(const shape& s) {
  { L::parameters(s) } -> std::convertible_to<parameter_list>;
};
template <class L>
concept answers_state = requires(const shape& s) {
  { L::state(s) } -> std::convertible_to<parameter_list>;
};
template <class L>
concept answers_flops = requires(const shape& s) {
  { L::flops(s) } -> std::convertible_to<work>;
};
template <class L>
concept answers_tape_bytes = requires(const shape& s, std::size_t element) {
  { L::tape_bytes(s, element) } -> std::convertible_to<std::size_t>;
};
template <class L>
concept answers_workspace_bytes = requires(const shape& s, std::size_t element) {
  { L::workspace_bytes(s, element) } -> std::convertible_to<std::size_t>;
};
template <class L>
concept names_input_shape = std::is_same_v<decltype(L::input_shape), const shape>;
template <class L>
concept flags_in_place = std::is_same_v<decltype(L::in_place), const bool>;
template <class L>
concept flags_fuses = std::is_same_v<decltype(L::fuses), const bool>;
template <class L>
concept flags_adds = std::is_same_v<decltype(L::adds), const bool>;
template <class L>
concept names_as_activation = std::is_same_v<decltype(L::as_activation), const activation>;

// A name that `With` has alone is one that the layer does not have.
template <class L, class With = layer_and_names<L>>
constexpr layer_fault first_layer_fault() {
  using enum layer_fault;
  constexpr bool no_shape = requires { &With::output_shape; };
  constexpr bool no_reads = requires { &With::backward_reads; };
  if (no_shape && no_reads) return no_layer;
  if (!answers_output_shape<L>) return output_shape;
  if (!names_backward_reads_at_once<L>) return backward_reads;
  if (!requires { &With::accepts; } && !answers_accepts<L>) return accepts;
  if (!requires { &With::input_shape; } && !names_input_shape<L>) return input_shape;
  if (!requires { &With::parameters; } && !answers_parameters<L>) return parameters;
  if (!requires { &With::state; } && !answers_state<L>) return state;
  if (!requires { &With::flops; } && !answers_flops<L>) return flops;
  if (!requires { &With::tape_bytes; } && !answers_tape_bytes<L>) return tape_bytes;
  if (!requires { &With::workspace_bytes; } && !answers_workspace_bytes<L>) return workspace_bytes;
  if (!requires { &With::in_place; } && !flags_in_place<L>) return flags;
  if (!requires { &With::fuses; } && !flags_fuses<L>) return flags;
  if (!requires { &With::adds; } && !flags_adds<L>) return flags;
  if (!requires { &With::as_activation; } && !names_as_activation<L>) return as_activation;
  return none;
}

} // namespace detail

// What is wrong with a layer, as far as its type alone says it: whether forward and backward can be called is a matter of
// the device and the element type too.
template <class L>
inline constexpr layer_fault layer_fault_of = [] {
  if constexpr (!std::is_class_v<L>) return layer_fault::no_layer;
  else if constexpr (std::is_final_v<L>) return layer<L> ? layer_fault::none : layer_fault::no_layer;
  else return detail::first_layer_fault<L>();
}();

} // namespace cairn
