// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/constant_sqrt.hpp>
#include <cairn/core/fraction.hpp>
#include <cairn/layer/layer.hpp>

namespace cairn {

// A start of weights, as the second argument of initialized<>: weights are normal with mean 0 and a deviation of Deviation /
// sqrt(Sums), biases are 0. normal_weights<percent<2>> is that of BERT, and transformers::gpt2_weights<Layers> that of GPT-2.
//
// A start of your own is a type with two such constants: `weight` is of parameters of two extents or more, `bias` of those of
// one. If it has a type `last_of_sum`, that is the start of the last layer with parameters in each Residual.
template <auto Deviation, std::size_t Sums = 1>
struct normal_weights {
  static_assert(Deviation > 0 && Sums > 0, "normal_weights: a deviation is above 0, and so is the number of sums; for 0.02 write "
                                           "normal_weights<percent<2>>");
  static constexpr initial weight =
      initial::normal(static_cast<double>(Deviation) / detail::constant_sqrt(static_cast<double>(Sums)));
  static constexpr initial bias = initial::constant(0);
};

} // namespace cairn

namespace cairn::detail {

// Layer, whose parameters start as Start says: those that start at random in the layer itself. Constants stay, such as the ones
// of a norm, and so do the zeros of an Embedding's padding.
template <class Layer, class Start>
struct started : Layer {
  static_assert(
      requires {
        { Start::weight } -> std::convertible_to<initial>;
        { Start::bias } -> std::convertible_to<initial>;
      }, "initialized: its second argument says how weights and biases start; write normal_weights<percent<2>>, or a type with "
         "static constexpr initial weight and bias");

  static constexpr tensor_list parameters(const arguments& in) {
    tensor_list list(Layer::parameters(in));
    for (std::size_t k = 0; k < list.count; ++k) {
      const initial own = list[k].start;
      if (own.how == initial::law::constant) continue;
      list[k].start = initial(list[k].rank() > 1 ? Start::weight : Start::bias).with_zeros(own.zeros_begin, own.zeros_end);
    }
    return list;
  }
};

} // namespace cairn::detail
