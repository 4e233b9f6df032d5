// SPDX-License-Identifier: MIT
// A mean of nothing.
// expect: error: .*AvgPool2d: kernel and stride are at least 1; only padding may be 0
#include <cairn/layer/avg_pool2d.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<8, 8, 3>, AvgPool2d<1>>;
#else
using Net = Sequential<Input<8, 8, 3>, AvgPool2d<0>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
