// SPDX-License-Identifier: MIT
#include <cairn/layer/attention_constants.hpp>

#include <cstddef>

#include <cairn/core/tensor_types.hpp>

#include "given.hpp"

namespace attention_constants_tests {

using namespace cairn;
using detail::which_constant;

constexpr std::size_t mask_of(std::size_t heads, std::size_t tokens, const arguments& in) {
  return detail::added_mask_of(heads, tokens, tokens, in, which_constant::first);
}
constexpr std::size_t key_lengths_of(const arguments& in) { return detail::key_lengths_of(in, which_constant::first); }

constexpr tensor mask = constant<5, 5>::value, for_all = batch_constant<5, 5>::value, of_heads = constant<2, 5, 5>::value;
constexpr tensor length = integer_constant<>::value;

// The first that fits, in any place.
static_assert(mask_of(2, 5, given({{5, 12}}, {mask})) == 0 && mask_of(2, 5, given({{5, 12}}, {length, for_all, mask})) == 1);
static_assert(mask_of(2, 5, given({{5, 12}}, {constant<5>::value, of_heads})) == 1);
static_assert(key_lengths_of(given({{5, 12}}, {length})) == 0 && key_lengths_of(given({{5, 12}}, {mask, length, length})) == 1);

// The last that fits, and a mask that is no square.
static_assert(detail::key_lengths_of(given({{5, 12}}, {mask, length, length, mask}), which_constant::last) == 2);
static_assert(detail::added_mask_of(2, 5, 3,
                                    given({{5, 12}}, {mask, constant<5, 3>::value, length, constant<2, 5, 3>::value, mask}),
                                    which_constant::last) == 3);
static_assert(detail::key_lengths_of(given({{5, 12}}, {mask}), which_constant::last) == 1);

// None: other extents, another type, another number of heads, one integer for the batch.
static_assert(mask_of(2, 5, given{{5, 12}}) == 0 && mask_of(3, 5, given({{5, 12}}, {of_heads})) == 1);
static_assert(mask_of(2, 6, given({{6, 12}}, {mask, for_all})) == 2);
static_assert(mask_of(2, 5, given({{5, 12}}, {integer_constant<5, 5>::value})) == 1);
static_assert(key_lengths_of(given({{5, 12}}, {batch_integer_constant<>::value, integer_constant<1>::value})) == 2);
static_assert(key_lengths_of(given({{5, 12}}, {constant<>::value})) == 1);

} // namespace attention_constants_tests
