// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include <cairn/core/explain.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/layer/layer_members.hpp>

namespace cairn::detail {

// Whether L has none of the members that every layer has.
template <class L>
constexpr bool is_no_layer() {
  if constexpr (!std::is_class_v<L>) return true;
  else if constexpr (final_layer<L>) return !layer<L>;
  else return requires { &layer_and_names<L>::outputs; } && requires { &layer_and_names<L>::backward_reads; };
}

struct layer_message {
  template <class Checked, class L = typename Checked::type>
  static constexpr bool right() {
    constexpr bool none = !right_layer<L> && is_no_layer<L>();
    static_assert(!none || is_right<Checked>,
                  "Sequential: this type is no layer, block or network: a layer has at least outputs(arguments), "
                  "backward_reads, forward and backward; see checked_layer<type>");
    if constexpr (none || right_layer<L>) return !none;
    else if constexpr (!right_options<L>) return L::template right<L>();
    else if constexpr (!right_outputs<L>)
      static_assert(is_right<Checked>, "layer: outputs is missing or has another signature, expected "
                                       "static constexpr tensor_list outputs(const arguments& in); see "
                                       "checked_layer<type>");
    else if constexpr (!right_backward_reads<L>)
      static_assert(is_right<Checked>, "layer: backward_reads is missing or is no constant, expected "
                                       "static constexpr reads backward_reads = reads::input (or output, both, "
                                       "nothing); see checked_layer<type>");
    else if constexpr (!right_accepts<L>)
      static_assert(is_right<Checked>, "layer: accepts has another signature, expected static constexpr bool "
                                       "accepts(const arguments& in); see checked_layer<type>");
    else if constexpr (!right_parameters<L>)
      static_assert(is_right<Checked>, "layer: parameters has another signature, expected static constexpr "
                                       "tensor_list parameters(const arguments& in); see checked_layer<type>");
    else if constexpr (!right_buffers<L>)
      static_assert(is_right<Checked>, "layer: buffers has another signature, expected static constexpr "
                                       "tensor_list buffers(const arguments& in); see checked_layer<type>");
    else if constexpr (!right_tape<L>)
      static_assert(is_right<Checked>, "layer: tape has another signature, expected static constexpr "
                                       "tensor_list tape(const arguments& in); see checked_layer<type>");
    else if constexpr (!right_workspace<L>)
      static_assert(is_right<Checked>, "layer: workspace has another signature, expected static constexpr "
                                       "tensor_list workspace(const arguments& in, pass why); see "
                                       "checked_layer<type>");
    else if constexpr (!right_flops<L>)
      static_assert(is_right<Checked>, "layer: flops has another signature, expected static constexpr work "
                                       "flops(const arguments& in); see checked_layer<type>");
    else if constexpr (!right_depends<L>)
      static_assert(is_right<Checked>, "layer: depends has another signature, expected static constexpr bool "
                                       "depends(std::size_t output, std::size_t input); see checked_layer<type>");
    else if constexpr (!right_inputs<L> || !right_takes<L>)
      static_assert(is_right<Checked>, "layer: inputs or takes is no constant of its type, expected static constexpr "
                                       "tensor_list inputs{{extents...}} and static constexpr std::size_t takes = 1; "
                                       "see checked_layer<type>");
    else if constexpr (!right_sums_over_ranks<L>)
      static_assert(is_right<Checked>, "layer: sums_over_ranks has another signature, expected static constexpr "
                                       "summed_numbers sums_over_ranks(const arguments& in); see checked_layer<type>");
    else if constexpr (!right_keeps_per_token<L>)
      static_assert(is_right<Checked>, "layer: keeps_per_token has another signature, expected static constexpr std::size_t "
                                       "keeps_per_token(const arguments& in); see checked_layer<type>");
    else
      static_assert(is_right<Checked>,
                    "layer: in_place, reshapes, input_gradient_on_input, fuses, adds, strided, skips_gradients, "
                    "adds_gradients and packs_weight are constants of type bool, as_activation one of type activation, expected "
                    "static constexpr bool "
                    "in_place = true; see checked_layer<type>");
    return right_layer<L>;
  }
};

// A type in the place of a layer, as the diagnostic of an error (core/explain.hpp) if it is none.
template <class L>
struct checked_layer : layer_message {
  using type = L;
};

} // namespace cairn::detail
