// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/layer/layer.hpp>

// What the members of a layer look like, each by itself: a member with another signature is wrong, and not one that is left
// out.
namespace cairn::detail {

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

// A name that a layer may have: it has it as it should be, or not at all. Nothing can be made of a final class, of which
// only what answers is seen.
template <class L>
concept right_accepts = answers_accepts<L> || std::is_final_v<L> || requires {
  &layer_and_names<L>::accepts;
};
template <class L>
concept right_input_shape = names_input_shape<L> || std::is_final_v<L> || requires {
  &layer_and_names<L>::input_shape;
};
template <class L>
concept right_parameters = answers_parameters<L> || std::is_final_v<L> || requires {
  &layer_and_names<L>::parameters;
};
template <class L>
concept right_state = answers_state<L> || std::is_final_v<L> || requires {
  &layer_and_names<L>::state;
};
template <class L>
concept right_flops = answers_flops<L> || std::is_final_v<L> || requires {
  &layer_and_names<L>::flops;
};
template <class L>
concept right_tape_bytes = answers_tape_bytes<L> || std::is_final_v<L> || requires {
  &layer_and_names<L>::tape_bytes;
};
template <class L>
concept right_workspace_bytes = answers_workspace_bytes<L> || std::is_final_v<L> || requires {
  &layer_and_names<L>::workspace_bytes;
};
template <class L>
concept right_in_place = flags_in_place<L> || std::is_final_v<L> || requires {
  &layer_and_names<L>::in_place;
};
template <class L>
concept right_fuses = flags_fuses<L> || std::is_final_v<L> || requires {
  &layer_and_names<L>::fuses;
};
template <class L>
concept right_adds = flags_adds<L> || std::is_final_v<L> || requires {
  &layer_and_names<L>::adds;
};
template <class L>
concept right_as_activation = names_as_activation<L> || std::is_final_v<L> || requires {
  &layer_and_names<L>::as_activation;
};

// Asked of every layer of every network, and so in one expression.
template <class L>
concept right_layer = answers_output_shape<L> && names_backward_reads_at_once<L> && right_accepts<L> &&
    right_input_shape<L> && right_parameters<L> && right_state<L> && right_flops<L> && right_tape_bytes<L> &&
    right_workspace_bytes<L> && right_in_place<L> && right_fuses<L> && right_adds<L> &&
    right_as_activation<L>;

} // namespace cairn::detail
