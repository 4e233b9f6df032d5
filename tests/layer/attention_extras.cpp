// SPDX-License-Identifier: MIT
#include <cairn/layer/attention_extras.hpp>

#include <cairn/core/fraction.hpp>
#include <cairn/core/tensor_types.hpp>
#include <cairn/layer/read_attention_options.hpp>

#include "given.hpp"

namespace attention_extras_tests {

using namespace cairn;
using attention::added_mask;
using attention::dropout;
using attention::key_lengths;
using detail::flops_of_extras;
using detail::which_constant;

template <which_constant Which, class... Options>
using extras = detail::extras_of_attention<detail::attention_options<2, Options...>, 2, Which>;

constexpr tensor square = constant<3, 3>::value, wide = constant<3, 5>::value, length = integer_constant<>::value;
constexpr given one({{3, 12}}, {length, square}), two({{3, 4}, {5, 8}}, {length, wide});

// The keys are those of the second tensor, if there is one.
static_assert(!extras<which_constant::first, added_mask, key_lengths>::lacks_constant(one));
static_assert(!extras<which_constant::last, added_mask, key_lengths>::lacks_constant(two));
static_assert(extras<which_constant::last, added_mask>::lacks_constant(given({{3, 4}, {5, 8}}, {square})));
static_assert(extras<which_constant::first, added_mask>::lacks_constant(given({{3, 12}}, {wide})));
static_assert(extras<which_constant::first, key_lengths>::lacks_constant(given({{3, 12}}, {square})));
static_assert(!extras<which_constant::first, dropout<percent<10>>>::lacks_constant(given{{3, 12}}));

static_assert(flops_of_extras<detail::attention_options<2>>(7) == 0);
static_assert(flops_of_extras<detail::attention_options<2, added_mask, key_lengths, dropout<percent<10>>>>(7) == 7 * 21);

} // namespace attention_extras_tests
