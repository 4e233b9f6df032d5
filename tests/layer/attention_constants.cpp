// SPDX-License-Identifier: MIT
#include <cairn/layer/attention_constants.hpp>

#include <cairn/core/tensor_types.hpp>

#include "given.hpp"

namespace attention_constants_tests {

using namespace cairn;
using detail::added_mask_of;
using detail::key_lengths_of;

constexpr tensor mask = constant<5, 5>::value, for_all = batch_constant<5, 5>::value, of_heads = constant<2, 5, 5>::value;
constexpr tensor length = integer_constant<>::value;

// The first that fits, in any place.
static_assert(added_mask_of(2, given({{5, 12}}, {mask})) == 0 &&
              added_mask_of(2, given({{5, 12}}, {length, for_all, mask})) == 1);
static_assert(added_mask_of(2, given({{5, 12}}, {constant<5>::value, of_heads})) == 1);
static_assert(key_lengths_of(given({{5, 12}}, {length})) == 0 && key_lengths_of(given({{5, 12}}, {mask, length, length})) == 1);

// None: other extents, another type, another number of heads, one integer for the batch.
static_assert(added_mask_of(2, given{{5, 12}}) == 0 && added_mask_of(3, given({{5, 12}}, {of_heads})) == 1);
static_assert(added_mask_of(2, given({{6, 12}}, {mask, for_all})) == 2);
static_assert(added_mask_of(2, given({{5, 12}}, {integer_constant<5, 5>::value})) == 1);
static_assert(key_lengths_of(given({{5, 12}}, {batch_integer_constant<>::value, integer_constant<1>::value})) == 2);
static_assert(key_lengths_of(given({{5, 12}}, {constant<>::value})) == 1);

} // namespace attention_constants_tests
