// SPDX-License-Identifier: MIT
// An option that a pool does not have.
// expect: error: .*MaxPool2d: its options are stride<>, padding<>, dilation<>, kernel_width<> and ceil_mode
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/max_pool2d.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<8, 8, 3>, MaxPool2d<3, ceil_mode>>;
#else
using Net = Sequential<Input<8, 8, 3>, MaxPool2d<3, no_count_include_pad>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
