// SPDX-License-Identifier: MIT
// Groups that do not divide the channels.
// expect: error: .*Conv2d: groups<> divides the channels, and must be a divisor of In and of Out
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<8, 8, 4>, Conv2d<4, 16, 3, groups<4>>>;
#else
using Net = Sequential<Input<8, 8, 4>, Conv2d<4, 16, 3, groups<3>>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
