// SPDX-License-Identifier: MIT
// An option of a convolution that is given twice.
// expect: error: .*Conv2d: an option is given twice; for height and width write stride<2, 1>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<8, 8, 3>, Conv2d<3, 16, 3, stride<2, 1>>>;
#else
using Net = Sequential<Input<8, 8, 3>, Conv2d<3, 16, 3, stride<2>, stride<1>>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
