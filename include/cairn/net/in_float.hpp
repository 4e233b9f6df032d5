// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include <cairn/core/explain.hpp>
#include <cairn/layer/float_border.hpp>
#include <cairn/layer/float_layer.hpp>
#include <cairn/net/elements.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/sequential.hpp>

namespace cairn {

// The same layers in float where the network has 16 bits, for what does not bear to be rounded: the last layer before a loss, a
// norm, a softmax over many classes. Values are widened once where they enter, and rounded once where they leave, gradients the
// other way round; in between values, tape and products are float, and parameters are the master copy. In a network of float or
// double it changes no value; a border there is a copy at most, and nothing where it may lie on its input.
//
//   Sequential<Linear<784, 512>, ReLU, in_float<LayerNorm<512>, Linear<512, 10>>>
//
// The layers have the names of their parameters and the places that they would have without it. They may be in a Sequential or a
// Repeat, but not in a block such as Residual: write in_float inside of the block. Each makes one tensor; Tied, head_in_strips
// and layers that read a constant stay outside.
template <class... Layers>
struct in_float {};

} // namespace cairn

namespace cairn::detail {

struct in_float_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>,
                  "in_float: it takes layers, one or more, in a Sequential or a Repeat or by themselves; write it "
                  "inside of blocks such as Residual or checkpoint, and leave Inputs, Tied and head_in_strips "
                  "outside; see not_in_float<type>");
    return false;
  }
};

// What cannot be inside an in_float.
template <class Part>
struct not_in_float : in_float_message {};

// Parts of an in_float with their layers replaced by those that work in float.
template <class Part>
struct part_in_float : type_of<float_layer<Part>> {
  static constexpr bool is_right =
      !requires { typename Part::tied_to; } && !requires { typename Part::layer_alone; } && !requires { Part::takes_no_place; };
};
template <class Part, class Parts>
struct sequence_in_float;
template <class Part, class... Parts>
struct sequence_in_float<Part, pack<Parts...>>
    : type_of<typename made_of<Part>::template with<typename part_in_float<Parts>::type...>> {
  static constexpr bool is_right = made_of<Part>::is_right && (part_in_float<Parts>::is_right && ...);
};
template <class Part>
  requires(made_of<Part>::as == part_kind::sequence)
struct part_in_float<Part> : sequence_in_float<Part, typename made_of<Part>::parts> {};
template <class Part>
  requires(made_of<Part>::as != part_kind::sequence && made_of<Part>::as != part_kind::layer)
struct part_in_float<Part> : type_of<Part> {
  static constexpr bool is_right = false;
};

// The parts of an in_float between its borders, or what was made of them (net/initialized.hpp).
template <class... Parts>
struct parts_in_float {};

template <class... Parts>
struct made_of<parts_in_float<Parts...>> {
  static constexpr part_kind as = part_kind::sequence;
  static constexpr std::size_t times = 1;
  static constexpr bool is_right = true;
  using parts = pack<Parts...>;
  template <class... Others>
  using with = parts_in_float<Others...>;
};
template <class... Layers>
struct made_of<in_float<Layers...>> : made_of<parts_in_float<>> {
  static constexpr std::string_view name = "in_float";
  static constexpr bool is_right = false;
  using wrong = not_in_float<in_float<Layers...>>;
};
template <class... Layers>
  requires(sizeof...(Layers) > 0 && (part_in_float<Layers>::is_right && ...))
struct made_of<in_float<Layers...>> : made_of<parts_in_float<enter_float<typename first_layer<Sequential<Layers...>>::type>,
                                                             typename part_in_float<Layers>::type..., leave_float>> {};

} // namespace cairn::detail
