// SPDX-License-Identifier: MIT
// What is no option of a convolution.
// expect: error: .*Conv2d: its options are stride<>, padding<>, dilation<>, kernel_width<>, groups<> and no_bias
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<8, 8, 3>, Conv2d<3, 16, 3, stride<2>>>;
#else
using Net = Sequential<Input<8, 8, 3>, Conv2d<3, 16, 3, batch<2>>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
