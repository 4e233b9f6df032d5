// SPDX-License-Identifier: MIT
// An image without a pixel.
// expect: error: .*AdaptiveAvgPool2d: it makes an image of at least one pixel; write AdaptiveAvgPool2d<1>
#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<8, 8, 3>, AdaptiveAvgPool2d<1>>;
#else
using Net = Sequential<Input<8, 8, 3>, AdaptiveAvgPool2d<0>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
