// SPDX-License-Identifier: MIT
// A convolution that stays where it is.
// expect: error: .*Conv2d: kernel, stride, dilation and groups are at least 1; only padding may be 0
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<8, 8, 3>, Conv2d<3, 16, 3, stride<1>, padding<0>>>;
#else
using Net = Sequential<Input<8, 8, 3>, Conv2d<3, 16, 3, stride<0>>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
