// SPDX-License-Identifier: MIT
// Windows that may see nothing but padding.
// expect: error: .*MaxPool2d: there is more padding than half of a window
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/max_pool2d.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<8, 8, 3>, MaxPool2d<3, stride<2>, padding<1>>>;
#else
using Net = Sequential<Input<8, 8, 3>, MaxPool2d<3, stride<2>, padding<2>>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
