// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/element.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/core/tensor.hpp>

// The constants of a network that the options of an attention read: each the first that fits, or the last for an attention to a
// memory, as an index in the list of all. The number of constants if none fits.
namespace cairn::detail {

// Which of those that fit.
enum class which_constant : unsigned char { first, last };

template <class Fits>
constexpr std::size_t constant_of(const arguments& in, which_constant which, Fits fits) {
  const std::size_t count = in.constants().size();
  std::size_t found = count;
  for (std::size_t k = 0; k < count; ++k)
    if (fits(in.constants()[k]) && (found == count || which == which_constant::last)) found = k;
  return found;
}

// The matrix of attention::added_mask, for so many heads, queries and keys.
constexpr std::size_t added_mask_of(std::size_t heads, std::size_t queries, std::size_t keys, const arguments& in,
                                    which_constant which) {
  return constant_of(in, which, [&](const tensor& c) {
    return c.type == element::real && (c.extents == shape{queries, keys} || c.extents == shape{heads, queries, keys});
  });
}

// The integers of attention::key_lengths, one for each sample.
constexpr std::size_t key_lengths_of(const arguments& in, which_constant which) {
  return constant_of(in, which, [](const tensor& c) { return c.type == element::int32 && c.rank() == 0 && !c.per_batch; });
}

struct attention_constants_message {
  template <class Joint>
  static constexpr bool right_constants() {
    static_assert(is_right<Joint>,
                  "attention: one of its options reads a constant of the network, and there is none that fits. "
                  "attention::added_mask adds the first constant<T, T>, batch_constant<T, T> or the same of Heads, T, T; "
                  "attention::key_lengths reads the first integer_constant<>; an attention to a memory of S tokens takes the "
                  "last, of T, S; write Inputs<dims<T, C>, constant<T, T>, "
                  "integer_constant<>>; see joint<position, producer, dims<what it produces>, consumer>");
    return false;
  }
};

} // namespace cairn::detail
