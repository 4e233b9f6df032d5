// SPDX-License-Identifier: MIT
// Groups of unequal numbers of channels.
// expect: error: .*GroupNorm: the groups divide the channels, and their number must be a divisor
#include <cairn/layer/group_norm.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<8, 8, 20>, GroupNorm<4, 20>>;
#else
using Net = Sequential<Input<8, 8, 20>, GroupNorm<8, 20>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
