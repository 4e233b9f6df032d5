// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/core/explain.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/layer/head_in_strips.hpp>
#include <cairn/layer/started.hpp>
#include <cairn/layer/tied.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/named_part.hpp>

// Networks whose parameters have other initial values than their layers give them.
namespace cairn::detail {

// A start inside a residual sum: the last layer with parameters has Start::last_of_sum, all others have Start.
template <class Start>
struct ending_sum {};

// The start of a layer in this place, and that of the parts of a network in it.
template <class Start>
struct read_start {
  using of_layer = Start;
  using of_parts = Start;
  static constexpr bool ends_sum = false;
};
template <class Start>
struct read_start<ending_sum<Start>> {
  using of_layer = typename Start::last_of_sum;
  using of_parts = Start;
  static constexpr bool ends_sum = true;
};

template <class Part>
constexpr bool has_parameters();
template <class... Parts>
constexpr std::size_t last_with_parameters(pack<Parts...>) {
  std::size_t last = sizeof...(Parts), next = 0;
  for (const bool has : {has_parameters<Parts>()..., false}) {
    if (has) last = next;
    ++next;
  }
  return last;
}
template <class Part>
constexpr bool has_parameters() {
  if constexpr (made_of<Part>::as == part_kind::layer) return requires(const arguments& in) { Part::parameters(in); };
  else return last_with_parameters(typename made_of<Part>::parts{}) < made_of<Part>::parts::size;
}

// Is what its last part computes its own result?
template <class Part>
constexpr bool ends_with_last_part() {
  if constexpr (made_of<Part>::as == part_kind::sequence) return made_of<Part>::times == 1;
  else return is_transparent<Part>;
}

// A part of a network with its layers replaced by started ones.
template <class Part, class Start>
struct with_start;

template <class Parts, class Start>
struct started_parts;
template <class... Parts, class Start>
struct started_parts<pack<Parts...>, Start> : type_of<pack<typename with_start<Parts, Start>::type...>> {};

// The same for parts of which the last one with parameters ends a residual sum.
template <class Parts, class Start, class Indices = std::make_index_sequence<Parts::size>>
struct parts_of_sum;
template <class... Parts, class Start, std::size_t... I>
struct parts_of_sum<pack<Parts...>, Start, std::index_sequence<I...>> {
  static constexpr std::size_t last = last_with_parameters(pack<Parts...>{});
  using type = pack<typename with_start<Parts, std::conditional_t<I == last, ending_sum<Start>, Start>>::type...>;
};

template <class Part, class Start>
struct parts_with_start {
  using parts = typename made_of<Part>::parts;
  using start = typename read_start<Start>::of_parts;
  static auto find() {
    if constexpr (!requires { typename start::last_of_sum; }) return started_parts<parts, start>{};
    else if constexpr (is_residual<Part> || (read_start<Start>::ends_sum && ends_with_last_part<Part>()))
      return parts_of_sum<parts, start>{};
    else return started_parts<parts, start>{};
  }
  using type = typename decltype(find())::type;
};

// A layer without parameters stays as it is.
template <class Part, class Start>
struct with_start {
  template <class... Parts>
  static auto rebuilt(pack<Parts...>) {
    using rebuilt_type = typename made_of<Part>::template with<Parts...>;
    if constexpr (std::is_same_v<typename made_of<rebuilt_type>::parts, pack<Parts...>>) return type_of<rebuilt_type>{};
    else return type_of<started<Part, Start>>{}; // its parts follow from its arguments
  }
  static auto find() {
    if constexpr (made_of<Part>::as != part_kind::layer) return rebuilt(typename parts_with_start<Part, Start>::type{});
    else if constexpr (has_parameters<Part>()) return type_of<started<Part, typename read_start<Start>::of_layer>>{};
    else return type_of<Part>{};
  }
  using type = typename decltype(find())::type;
};
// The innermost start is that of a layer.
template <class Part, class Inner, class Start>
struct with_start<started<Part, Inner>, Start> : type_of<started<Part, Inner>> {};
// The part of a composite keeps its name.
template <class Name, class Layer, class Start>
struct with_start<named_part<Name, Layer>, Start> : type_of<named_part<Name, typename with_start<Layer, Start>::type>> {};
// A tied layer finds its owner by its type.
template <class Layer, class Owner, class Start>
struct with_start<Tied<Layer, Owner>, Start>
    : type_of<
          Tied<typename with_start<Layer, Start>::type, typename with_start<Owner, typename read_start<Start>::of_parts>::type>> {
};

// A head computes what its layer does.
template <class Layer, std::size_t Rows, class Start>
struct with_start<head_in_strips<Layer, Rows>, Start> : type_of<head_in_strips<typename with_start<Layer, Start>::type, Rows>> {};

// A block whose parts follow from its arguments, with started ones.
template <class Block, class Start>
  requires(made_of<Block>::as != part_kind::layer)
struct started<Block, Start> {};
template <class Block, class Start>
  requires(made_of<Block>::as != part_kind::layer)
struct made_of<started<Block, Start>> : made_of<Block> {
  using parts = typename parts_with_start<Block, Start>::type;
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
// for layers with an initialized<> of their own. It may have another start for the last layer of each residual sum. BERT and
// GPT-2 begin so:
//
//   initialized<Sequential<Inputs<integers<64>>, Embedding<96, 128>, ...>, normal_weights<percent<2>>>
//   initialized<Sequential<Inputs<integers<64>>, Embedding<96, 128>, ...>, transformers::gpt2_weights<12>> // of 12 layers
//
// It stands inside checkpoint<> and ddp<>. Ranks with different starts refuse each other; states and copies of parameters do not
// depend on the start.
template <class Part, class Start>
using initialized = typename detail::with_start<Part, Start>::type;

} // namespace cairn
