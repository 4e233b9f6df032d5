// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/explain.hpp>
#include <cairn/layer/float_border.hpp>
#include <cairn/layer/float_layer.hpp>
#include <cairn/layer/head_in_strips.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/started.hpp>
#include <cairn/layer/tied.hpp>
#include <cairn/net/named_part.hpp>
#include <cairn/train/onnx/layer_writer.hpp>

namespace cairn::detail {

struct stand_in_layer; // net/checked_network.hpp

struct operators_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>,
                  "write_onnx: this layer does not say which operators of ONNX compute it; give it a function  static void "
                  "operators(auto& at)  that adds them, as examples/weights.md shows; see layer_without_operators<layer>");
    return false;
  }
};

// A layer of which write_onnx() knows no operators.
template <class Layer>
struct layer_without_operators : operators_message {};

// Operators of a layer that computes nothing in evaluation.
struct no_operators {
  static void write(onnx::layer_writer& at) {
    for (std::size_t k = 0; k < at.in().size(); ++k) at.pass_on(k);
  }
};

} // namespace cairn::detail

namespace cairn::onnx {

// The operators of ONNX that compute a layer in evaluation: write(at) adds them. A layer of your own says them by a function of
// its own, Layer::operators(at), which needs no header of this folder. Specialise this for the layers of others.
template <class Layer>
struct operators {
  static void write(layer_writer& at) {
    if constexpr (requires { Layer::operators(at); }) Layer::operators(at);
    else static_cast<void>(detail::refuse<detail::layer_without_operators<Layer>>());
  }
};

// Types around a layer that change its parameters' names, places or initial values, or only how it is trained. A Tied layer finds
// its owner's parameter as its own first.
template <class Layer, class Start>
struct operators<detail::started<Layer, Start>> : operators<Layer> {};
template <class Name, class Layer>
struct operators<detail::named_part<Name, Layer>> : operators<Layer> {};
template <class Layer, std::size_t Rows>
struct operators<head_in_strips<Layer, Rows>> : operators<Layer> {};
template <class Layer, class Owner>
struct operators<Tied<Layer, Owner>> : operators<Layer> {};
template <class Layer>
struct operators<detail::float_layer<Layer>> : operators<Layer> {}; // all is float in the file

template <class... Tensors>
struct operators<Inputs<Tensors...>> : detail::no_operators {};
template <std::size_t... Extents>
struct operators<Input<Extents...>> : detail::no_operators {};
template <class First>
struct operators<detail::enter_float<First>> : detail::no_operators {};
template <>
struct operators<detail::leave_float> : detail::no_operators {};
template <> // in place of a network that has had its error
struct operators<detail::stand_in_layer> : detail::no_operators {};

} // namespace cairn::onnx
