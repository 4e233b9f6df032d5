// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include <cairn/layer/layer.hpp>
#include <cairn/layer/layer_members.hpp>

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

// What one that is not right lacks.
template <class L>
constexpr layer_fault first_layer_fault() {
  using enum layer_fault;
  if constexpr (!std::is_class_v<L>) return no_layer;
  else if constexpr (std::is_final_v<L>) return layer<L> ? none : no_layer;
  else if constexpr (
      requires { &layer_and_names<L>::output_shape; } && requires { &layer_and_names<L>::backward_reads; })
    return no_layer;
  else if constexpr (!answers_output_shape<L>) return output_shape;
  else if constexpr (!names_backward_reads_at_once<L>) return backward_reads;
  else if constexpr (!right_accepts<L>) return accepts;
  else if constexpr (!right_input_shape<L>) return input_shape;
  else if constexpr (!right_parameters<L>) return parameters;
  else if constexpr (!right_state<L>) return state;
  else if constexpr (!right_flops<L>) return flops;
  else if constexpr (!right_tape_bytes<L>) return tape_bytes;
  else if constexpr (!right_workspace_bytes<L>) return workspace_bytes;
  else if constexpr (!right_in_place<L> || !right_fuses<L> || !right_adds<L>) return flags;
  else return as_activation;
}

template <class L, bool Right = right_layer<L>>
inline constexpr layer_fault fault_of_layer = layer_fault::none;
template <class L>
inline constexpr layer_fault fault_of_layer<L, false> = first_layer_fault<L>();

} // namespace detail

// What is wrong with a layer, as far as its type alone says it: whether forward and backward can be called is a matter of
// the device and the element type too.
template <class L>
inline constexpr layer_fault layer_fault_of = detail::fault_of_layer<L>;

} // namespace cairn
