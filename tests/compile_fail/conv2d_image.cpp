// SPDX-License-Identifier: MIT
// An image that is smaller than a window, far behind the input.
// expect: error: .*Sequential: the layer at this position does not accept what the layer before it produces
// expect: joint<2, Conv2d<3, 4, 3, .*>, dims<2, 2, 4>, Conv2d<4, 4, 3>>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<8, 8, 3>, Conv2d<3, 4, 3, stride<3>>, Conv2d<4, 4, 3, padding<1>>>;
#else
using Net = Sequential<Input<8, 8, 3>, Conv2d<3, 4, 3, stride<3>>, Conv2d<4, 4, 3>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
