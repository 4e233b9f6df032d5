// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/pack.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/elements.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>

namespace cairn {

namespace detail {

// What a part of a network computes, as a list: schedules left out, and Sequentials inside one another made one.
template <class Part>
struct function_parts : type_of<pack<Part>> {};
template <class... Parts>
struct function_parts<Sequential<Parts...>>
    : type_of<typename joined<typename function_parts<Parts>::type...>::type> {};
template <class Policy, class Net>
struct function_parts<checkpoint<Policy, Net>> : function_parts<Net> {};
template <class Model>
struct function_parts<fused_update<Model>> : function_parts<Model> {};

template <class Parts>
struct function_made_of;
template <class... Parts>
struct function_made_of<pack<Parts...>> : type_of<Sequential<Parts...>> {};

} // namespace detail

// The function that a network computes, as a network without a schedule. Two networks with the same one have the same
// parameters, in the same places of the flat buffer, whatever their policies: a block of its own lies in it as its layers
// would. It compares how networks were typed: Repeat<2, L> and Sequential<L, L> count as different.
template <class Net>
using function_of = typename detail::function_made_of<typename detail::function_parts<Net>::type>::type;

namespace detail {

template <std::size_t N, class Block>
struct function_parts<Repeat<N, Block>> : type_of<pack<Repeat<N, function_of<Block>>>> {};
template <class... Parts>
struct function_parts<Residual<Parts...>> {
  template <class>
  struct inside;
  template <class... Inner>
  struct inside<Sequential<Inner...>> : type_of<pack<Residual<Inner...>>> {};
  using type = typename inside<function_of<Sequential<Parts...>>>::type;
};

} // namespace detail

} // namespace cairn
