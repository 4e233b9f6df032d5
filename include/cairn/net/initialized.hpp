// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/explain.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/layer/head_in_strips.hpp>
#include <cairn/layer/started.hpp>
#include <cairn/layer/tied.hpp>
#include <cairn/net/made_of.hpp>

// Networks whose parameters have other initial values than their layers give them.
namespace cairn::detail {

template <class Parts, class Start>
struct started_parts;

// A part of a network with its layers replaced by started ones. A layer without parameters stays as it is.
template <class Part, class Start>
struct with_start {
  template <class... Parts>
  static auto rebuilt(pack<Parts...>) {
    using rebuilt_type = typename made_of<Part>::template with<Parts...>;
    if constexpr (std::is_same_v<typename made_of<rebuilt_type>::parts, pack<Parts...>>) return type_of<rebuilt_type>{};
    else return type_of<started<Part, Start>>{}; // its parts follow from its arguments
  }
  static auto find() {
    if constexpr (made_of<Part>::as != part_kind::layer)
      return rebuilt(typename started_parts<typename made_of<Part>::parts, Start>::type{});
    else if constexpr (requires(const arguments& in) { Part::parameters(in); }) return type_of<started<Part, Start>>{};
    else return type_of<Part>{};
  }
  using type = typename decltype(find())::type;
};
// The innermost start is that of a layer.
template <class Part, class Inner, class Start>
struct with_start<started<Part, Inner>, Start> : type_of<started<Part, Inner>> {};
// A tied layer finds its owner by its type.
template <class Layer, class Owner, class Start>
struct with_start<Tied<Layer, Owner>, Start>
    : type_of<Tied<typename with_start<Layer, Start>::type, typename with_start<Owner, Start>::type>> {};

// A head computes what its layer does.
template <class Layer, std::size_t Rows, class Start>
struct with_start<head_in_strips<Layer, Rows>, Start> : type_of<head_in_strips<typename with_start<Layer, Start>::type, Rows>> {};

template <class... Parts, class Start>
struct started_parts<pack<Parts...>, Start> : type_of<pack<typename with_start<Parts, Start>::type...>> {};

// A block whose parts follow from its arguments, with started ones.
template <class Block, class Start>
  requires(made_of<Block>::as != part_kind::layer)
struct started<Block, Start> {};
template <class Block, class Start>
  requires(made_of<Block>::as != part_kind::layer)
struct made_of<started<Block, Start>> : made_of<Block> {
  using parts = typename started_parts<typename made_of<Block>::parts, Start>::type;
  template <class...>
  using with = started<Block, Start>;
};

// The same part with the initial values of its layers.
template <class Part>
struct without_start : type_of<Part> {};
template <class Part, class Start>
struct without_start<started<Part, Start>> : type_of<Part> {};
template <class Layer, class Owner>
struct without_start<Tied<Layer, Owner>>
    : type_of<Tied<typename without_start<Layer>::type, typename without_start<Owner>::type>> {};

} // namespace cairn::detail

namespace cairn {

// Part with other initial values: a layer, a block or a whole network, whose function and names of parameters stay. Start says
// how weights and biases begin in every layer inside, but for those that begin as constants (the ones and zeros of a norm), and
// for layers with an initialized<> of their own. GPT-2 begins so:
//
//   template <std::size_t In, std::size_t Out>
//   using Last = initialized<Linear<In, Out>, normal_weights<percent<2>, 24>>; // of each of 12 times two residual sums
//   using Net = initialized<Sequential<Inputs<integers<64>>, Embedding<96, 128>, ...>, normal_weights<percent<2>>>;
//
// It stands inside checkpoint<> and ddp<>. Ranks with different starts refuse each other; states and copies of parameters do not
// depend on the start.
template <class Part, class Start>
using initialized = typename detail::with_start<Part, Start>::type;

} // namespace cairn
