// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/layer/layer_fault.hpp>

namespace cairn {

namespace detail {

struct layer_sentences {
  template <class Checked>
  static constexpr bool right() {
    static_assert(Checked::fault != layer_fault::no_layer,
                  "Sequential: this type is no layer, block or network: a layer has at least output_shape(shape), "
                  "backward_reads, forward and backward; see checked_layer<type>");
    static_assert(Checked::fault != layer_fault::output_shape,
                  "layer: output_shape is missing or has another signature, expected "
                  "static constexpr shape output_shape(const shape& input); see checked_layer<type>");
    static_assert(Checked::fault != layer_fault::backward_reads,
                  "layer: backward_reads is missing or is no constant, expected "
                  "static constexpr reads backward_reads = reads::input (or output, both, nothing); see "
                  "checked_layer<type>");
    static_assert(
        Checked::fault != layer_fault::accepts,
        "layer: accepts has another signature, expected static constexpr bool accepts(const shape& input); "
        "see checked_layer<type>");
    static_assert(
        Checked::fault != layer_fault::input_shape,
        "layer: input_shape is no shape, expected static constexpr shape input_shape{extents...}; see "
        "checked_layer<type>");
    static_assert(Checked::fault != layer_fault::parameters,
                  "layer: parameters has another signature, expected "
                  "static constexpr parameter_list parameters(const shape& input); see checked_layer<type>");
    static_assert(Checked::fault != layer_fault::state,
                  "layer: state has another signature, expected "
                  "static constexpr parameter_list state(const shape& input); see checked_layer<type>");
    static_assert(
        Checked::fault != layer_fault::flops,
        "layer: flops has another signature, expected static constexpr work flops(const shape& input); see "
        "checked_layer<type>");
    static_assert(Checked::fault != layer_fault::tape_bytes,
                  "layer: tape_bytes has another signature, expected static constexpr "
                  "std::size_t tape_bytes(const shape& input, std::size_t element); see checked_layer<type>");
    static_assert(
        Checked::fault != layer_fault::workspace_bytes,
        "layer: workspace_bytes has another signature, expected static constexpr "
        "std::size_t workspace_bytes(const shape& input, std::size_t element); see checked_layer<type>");
    static_assert(
        Checked::fault != layer_fault::flags,
        "layer: in_place, fuses and adds are constants, expected static constexpr bool in_place = true; see "
        "checked_layer<type>");
    static_assert(Checked::fault != layer_fault::as_activation,
                  "layer: as_activation is no constant of type activation; see checked_layer<type>");
    return Checked::fault == layer_fault::none;
  }
};

} // namespace detail

// Something that stands where a layer should, as the culprit of an error (core/explain.hpp) if it is none.
template <class L>
struct checked_layer : detail::layer_sentences {
  static constexpr layer_fault fault = layer_fault_of<L>;
};

} // namespace cairn
