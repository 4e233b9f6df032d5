// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/layer/layer.hpp>

// The members of a layer, each with the form that it must have. A member of another form is an error, and not left out: otherwise
// a layer with a misspelt signature would be trained without its parameters.
namespace cairn::detail {

// All names that a layer may have. In a class derived from a layer and from these, a name that both have is ambiguous: so it
// is known whether the layer has it, in whatever form.
struct names_of_layers {
  int outputs, backward_reads, accepts, inputs, constants, takes, depends, parameters, buffers, tape, workspace, flops, in_place,
      reshapes, input_gradient_on_input, fuses, adds, strided, skips_gradients, adds_gradients, packs_weight, sums_over_ranks,
      as_activation, keeps_per_token;
};
template <class L>
struct layer_and_names : L, names_of_layers {};

// A final class cannot be derived from: only its members of the right form are seen.
template <class L>
concept final_layer = std::is_final_v<L>;

template <class L>
concept right_outputs = requires(const arguments& in) {
  { L::outputs(in) } -> std::convertible_to<tensor_list>;
};
template <class L>
concept right_backward_reads = requires { typename std::integral_constant<reads, L::backward_reads>; };

template <class L>
concept right_accepts = requires(const arguments& in) {
  { L::accepts(in) } -> std::convertible_to<bool>;
} || final_layer<L> || requires { &layer_and_names<L>::accepts; };
template <class L>
concept right_inputs =
    std::is_same_v<decltype(L::inputs), const tensor_list> || final_layer<L> || requires { &layer_and_names<L>::inputs; };
template <class L>
concept right_takes =
    std::is_same_v<decltype(L::takes), const std::size_t> || final_layer<L> || requires { &layer_and_names<L>::takes; };
template <class L>
concept right_depends = requires {
  { L::depends(std::size_t{}, std::size_t{}) } -> std::same_as<bool>;
} || final_layer<L> || requires { &layer_and_names<L>::depends; };
template <class L>
concept right_parameters = requires(const arguments& in) {
  { L::parameters(in) } -> std::convertible_to<tensor_list>;
} || final_layer<L> || requires { &layer_and_names<L>::parameters; };
template <class L>
concept right_buffers = requires(const arguments& in) {
  { L::buffers(in) } -> std::convertible_to<tensor_list>;
} || final_layer<L> || requires { &layer_and_names<L>::buffers; };
template <class L>
concept right_tape = requires(const arguments& in) {
  { L::tape(in) } -> std::convertible_to<tensor_list>;
} || final_layer<L> || requires { &layer_and_names<L>::tape; };
template <class L>
concept right_workspace = requires(const arguments& in, pass why) {
  { L::workspace(in, why) } -> std::convertible_to<tensor_list>;
} || final_layer<L> || requires { &layer_and_names<L>::workspace; };
template <class L>
concept right_flops = requires(const arguments& in) {
  { L::flops(in) } -> std::convertible_to<work>;
} || final_layer<L> || requires { &layer_and_names<L>::flops; };
template <class L>
concept right_in_place =
    std::is_same_v<decltype(L::in_place), const bool> || final_layer<L> || requires { &layer_and_names<L>::in_place; };
template <class L>
concept right_reshapes =
    std::is_same_v<decltype(L::reshapes), const bool> || final_layer<L> || requires { &layer_and_names<L>::reshapes; };
template <class L>
concept right_input_gradient_on_input = std::is_same_v<decltype(L::input_gradient_on_input), const bool> || final_layer<L> ||
                                        requires { &layer_and_names<L>::input_gradient_on_input; };
template <class L>
concept right_fuses =
    std::is_same_v<decltype(L::fuses), const bool> || final_layer<L> || requires { &layer_and_names<L>::fuses; };
template <class L>
concept right_adds = std::is_same_v<decltype(L::adds), const bool> || final_layer<L> || requires { &layer_and_names<L>::adds; };
template <class L>
concept right_strided =
    std::is_same_v<decltype(L::strided), const bool> || final_layer<L> || requires { &layer_and_names<L>::strided; };
template <class L>
concept right_skips_gradients = std::is_same_v<decltype(L::skips_gradients), const bool> || final_layer<L> ||
                                requires { &layer_and_names<L>::skips_gradients; };
template <class L>
concept right_adds_gradients = std::is_same_v<decltype(L::adds_gradients), const bool> || final_layer<L> ||
                               requires { &layer_and_names<L>::adds_gradients; };
template <class L>
concept right_packs_weight =
    std::is_same_v<decltype(L::packs_weight), const bool> || final_layer<L> || requires { &layer_and_names<L>::packs_weight; };
template <class L>
concept right_sums_over_ranks = requires(const arguments& in) {
  { L::sums_over_ranks(in) } -> std::convertible_to<summed_numbers>;
} || final_layer<L> || requires { &layer_and_names<L>::sums_over_ranks; };
template <class L>
concept right_keeps_per_token = std::is_same_v<decltype(L::keeps_per_token(std::declval<const arguments&>())), std::size_t> ||
                                final_layer<L> || requires { &layer_and_names<L>::keeps_per_token; };
template <class L>
concept right_as_activation = std::is_same_v<decltype(L::as_activation), const activation> || final_layer<L> ||
                              requires { &layer_and_names<L>::as_activation; };

// A layer may refuse its template arguments: then its right<L>() has a static_assert that fails.
template <class L>
concept right_options = !requires { L::options_are_right; } || requires { requires L::options_are_right; };

// One expression, because it is evaluated for every layer of every network.
template <class L>
concept right_layer =
    right_options<L> && right_outputs<L> && right_backward_reads<L> && right_accepts<L> && right_inputs<L> && right_takes<L> &&
    right_depends<L> && right_parameters<L> && right_buffers<L> && right_tape<L> && right_workspace<L> && right_flops<L> &&
    right_in_place<L> && right_reshapes<L> && right_input_gradient_on_input<L> && right_fuses<L> && right_adds<L> &&
    right_strided<L> && right_skips_gradients<L> && right_adds_gradients<L> && right_packs_weight<L> &&
    right_sums_over_ranks<L> && right_as_activation<L> && right_keeps_per_token<L>;

} // namespace cairn::detail
