// SPDX-License-Identifier: MIT
// A pool that torch has no dilation for either.
// expect: error: .*AvgPool2d: its options are stride<>, padding<>, kernel_width<>, ceil_mode and no_count_include_pad
#include <cairn/layer/avg_pool2d.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<8, 8, 3>, AvgPool2d<2, stride<2>>>;
#else
using Net = Sequential<Input<8, 8, 3>, AvgPool2d<2, dilation<2>>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
