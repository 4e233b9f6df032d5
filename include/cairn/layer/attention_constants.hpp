// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/element.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/core/tensor.hpp>

// The constants of a network that the options of an attention read: each the first that fits, as an index in the list of all.
namespace cairn::detail {

// The matrix of attention::added_mask, for so many heads and the tokens of the input. The number of constants if there is none.
constexpr std::size_t added_mask_of(std::size_t heads, const arguments& in) {
  const std::size_t tokens = in[0][0];
  std::size_t k = 0;
  for (; k < in.constants().size(); ++k) {
    const tensor& found = in.constants()[k];
    const bool fits = found.extents == shape{tokens, tokens} || found.extents == shape{heads, tokens, tokens};
    if (fits && found.type == element::real) break;
  }
  return k;
}

// The integers of attention::key_lengths, one for each sample.
constexpr std::size_t key_lengths_of(const arguments& in) {
  std::size_t k = 0;
  for (; k < in.constants().size(); ++k) {
    const tensor& found = in.constants()[k];
    if (found.type == element::int32 && found.rank() == 0 && !found.per_batch) break;
  }
  return k;
}

struct attention_constants_message {
  template <class Joint>
  static constexpr bool right_constants() {
    static_assert(is_right<Joint>,
                  "attention: one of its options reads a constant of the network, and there is none that fits. "
                  "attention::added_mask adds the first constant<T, T>, batch_constant<T, T> or the same of Heads, T, T; "
                  "attention::key_lengths reads the first integer_constant<>; write Inputs<dims<T, C>, constant<T, T>, "
                  "integer_constant<>>; see joint<position, producer, dims<what it produces>, consumer>");
    return false;
  }
};

} // namespace cairn::detail
