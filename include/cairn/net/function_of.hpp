// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/pack.hpp>
#include <cairn/net/elements.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/sequential.hpp>

namespace cairn::detail {

template <class Net>
struct function_made_of;

// The function of a part of a network as a list of parts, without schedules and with nested Sequentials flattened.
template <class Part, class Parts = typename made_of<Part>::parts>
struct function_parts;
template <class Part, class... Parts>
struct function_parts<Part, pack<Parts...>> {
  static auto find() {
    if constexpr (requires { typename Part::layer_alone; }) return type_of<pack<typename Part::layer_alone>>{}; // in strips
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

// The function that a network computes, as a network without a schedule. Two networks with the same one have the same
// parameters in the same order, whatever their policies; unless a part is frozen, also in the same places of the flat buffer,
// where a nested checkpoint lies as its layers would. Types are compared as they are written: Repeat<2, L> and Sequential<L, L>
// count as different.
template <class Net>
using function_of = typename function_made_of<Net>::type;

} // namespace cairn::detail
