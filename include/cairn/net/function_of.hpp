// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/pack.hpp>
#include <cairn/layer/learned_positions.hpp>
#include <cairn/net/elements.hpp>
#include <cairn/net/initialized.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/sequential.hpp>

namespace cairn::detail {

template <class Net>
struct function_made_of;

// The function of a part of a network as a list of parts, without schedules and starts and with nested Sequentials flattened.
template <class Part, class Parts = typename made_of<Part>::parts>
struct function_parts;
template <class Part, class... Parts>
struct function_parts<Part, pack<Parts...>> {
  static auto find() {
    using plain = typename without_start<Part>::type;
    if constexpr (!std::is_same_v<plain, Part>) return type_of<typename function_parts<plain>::type>{};
    else if constexpr (requires { typename Part::layer_alone; }) // in strips
      return type_of<typename function_parts<typename Part::layer_alone>::type>{};
    else if constexpr (made_of<Part>::as == part_kind::layer) return type_of<pack<Part>>{};
    else if constexpr (is_sequential<Part>) return type_of<typename joined<typename function_parts<Parts>::type...>::type>{};
    else if constexpr (is_transparent<Part>) return function_parts<Parts...>::find();
    else return type_of<pack<typename made_of<Part>::template with<typename function_made_of<Parts>::type...>>>{};
  }
  using type = typename decltype(find())::type;
};

template <class Net>
struct function_made_of {
  template <class... Parts>
  static Sequential<Parts...> put_together(pack<Parts...>);
  using type = decltype(put_together(typename function_parts<Net>::type{}));
};

// The function that a network computes, as a network without a schedule, whose layers start as they say. Two networks with the
// same one have the same parameters in the same order, whatever their policies; unless a part is frozen, also in the same places
// of the flat buffer, where a nested checkpoint lies as its layers would. Types are compared as they are written: Repeat<2, L>
// and Sequential<L, L> count as different.
template <class Net>
using function_of = typename function_made_of<Net>::type;

// Layers that differ between a network and the same one for sequences of another length: Inputs, and positions.
template <std::size_t Tensors, std::size_t Constants>
struct inputs_of_any_length {};
template <std::size_t Width>
struct positions_of_any_length {};

template <class Part, class Parts = typename made_of<Part>::parts>
struct at_any_length;
template <class Part, class... Parts>
struct at_any_length<Part, pack<Parts...>> {
  static auto find() {
    if constexpr (made_of<Part>::as != part_kind::layer)
      return type_of<typename made_of<Part>::template with<typename at_any_length<Parts>::type...>>{};
    else if constexpr (requires { Part::constants; })
      return type_of<inputs_of_any_length<Part::inputs.size(), Part::constants.size()>>{};
    else return type_of<Part>{};
  }
  using type = typename decltype(find())::type;
};
template <std::size_t Positions, std::size_t Width>
struct at_any_length<LearnedPositions<Positions, Width>, pack<>> : type_of<positions_of_any_length<Width>> {};

// Do two networks have the same layers, and so the same parameters, but perhaps for sequences of different lengths?
template <class Net, class Other>
inline constexpr bool same_layers =
    std::is_same_v<typename at_any_length<function_of<Net>>::type, typename at_any_length<function_of<Other>>::type>;

} // namespace cairn::detail
