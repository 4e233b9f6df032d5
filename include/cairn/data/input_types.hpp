// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include <cairn/core/pack.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>

namespace cairn::types {

// The element types of a dataset with several inputs, in the order of the network's Inputs<...>: a dataset of numbers and
// tokens says  using input_type = input_types<float, std::int32_t>. A dataset of one input says  using input_type = float.
template <class... Types>
struct input_types {
  static_assert(sizeof...(Types) > 1, "input_types: one input needs no list; write  using input_type = float");
};

} // namespace cairn::types

namespace cairn::detail {

// The element types of a dataset's inputs, one or several, as a pack.
template <class Input>
struct inputs_of {
  using elements = pack<Input>;
  using positions = std::index_sequence<0>;
  static constexpr std::size_t count = 1;
};
template <class... Types>
struct inputs_of<input_types<Types...>> {
  using elements = pack<Types...>;
  using positions = std::index_sequence_for<Types...>;
  static constexpr std::size_t count = sizeof...(Types);
};

template <class Input>
inline constexpr bool are_several = inputs_of<Input>::count > 1;

// The shapes of one sample's inputs.
template <class Input>
using input_shapes = std::array<shape, inputs_of<Input>::count>;

template <class Dataset>
input_shapes<typename Dataset::input_type> shapes_of(const Dataset& samples) {
  if constexpr (are_several<typename Dataset::input_type>) return samples.sample_shapes();
  else return {samples.sample_shape()};
}

// One type stays what it is.
template <class... Types>
struct input_type_of {
  using type = input_types<Types...>;
};
template <class Type>
struct input_type_of<Type> {
  using type = Type;
};

// All types but the last, which is that of the targets, as a dataset's input_type.
template <class Types, class Positions = std::make_index_sequence<Types::size - 1>>
struct inputs_before_last;
template <class Types, std::size_t... K>
struct inputs_before_last<Types, std::index_sequence<K...>> {
  using type = typename input_type_of<pack_element<K, Types>...>::type;
};

} // namespace cairn::detail
