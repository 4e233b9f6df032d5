// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <initializer_list>
#include <type_traits>

#include <cairn/core/pack.hpp>
#include <cairn/layer/bundle_layer.hpp>
#include <cairn/net/composite.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>

namespace cairn::detail {

// The index of the first fact that does not hold; their number if all hold.
constexpr std::size_t first_false(std::initializer_list<bool> facts) {
  std::size_t i = 0;
  for (const bool fact : facts) {
    if (!fact) break;
    ++i;
  }
  return i;
}

// Does a Question hold for every part of a network? Question::layer<T> is asked of layers, and of whatever stands where a
// layer could; Question::block<T> of a Repeat, a Residual and a checkpoint, before what is in it.
template <class Question, class Part>
inline constexpr bool holds =
    bundle_layer<Part> || Question::template layer<Part>; // looked at by the walk of bundles
template <class Question, class... Parts>
inline constexpr bool holds<Question, Sequential<Parts...>> = first_false({true,
                                                                           holds<Question, Parts>...}) ==
                                                              sizeof...(Parts) + 1;
template <class Question, std::size_t N, class Block>
inline constexpr bool holds<Question, Repeat<N, Block>> =
    Question::template block<Repeat<N, Block>>&& holds<Question, Block>;
template <class Question, class... Parts>
inline constexpr bool holds<Question, Residual<Parts...>> =
    Question::template block<Residual<Parts...>>&& holds<Question, Sequential<Parts...>>;
template <class Question, class Policy, class Net>
inline constexpr bool holds<Question, checkpoint<Policy, Net>> =
    Question::template block<checkpoint<Policy, Net>>&& holds<Question, Net>;

// The first part for which it does not.
template <class Question, class Part>
struct first_wrong : type_of<Part> {};
template <class Question, class Block, class Inside>
using first_wrong_of_block =
    std::conditional_t<Question::template block<Block>, first_wrong<Question, Inside>, type_of<Block>>;

template <class Question, class... Parts>
struct first_wrong<Question, Sequential<Parts...>>
    : first_wrong<Question, pack_element<first_false({holds<Question, Parts>...}), pack<Parts...>>> {};
template <class Question, std::size_t N, class Block>
struct first_wrong<Question, Repeat<N, Block>> : first_wrong_of_block<Question, Repeat<N, Block>, Block> {};
template <class Question, class... Parts>
struct first_wrong<Question, Residual<Parts...>>
    : first_wrong_of_block<Question, Residual<Parts...>, Sequential<Parts...>> {};
template <class Question, class Policy, class Net>
struct first_wrong<Question, checkpoint<Policy, Net>>
    : first_wrong_of_block<Question, checkpoint<Policy, Net>, Net> {};

} // namespace cairn::detail
