// SPDX-License-Identifier: MIT
// Numbers that are no image any more.
// expect: error: .*Sequential: the layer at this position does not accept what the layer before it produces: it takes images
// expect: joint<2, Flatten, dims<3072>, Conv2d<3, 4, 3>>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<32, 32, 3>, Conv2d<3, 4, 3>, Flatten, Linear<30 * 30 * 4, 10>>;
#else
using Net = Sequential<Input<32, 32, 3>, Flatten, Conv2d<3, 4, 3>, Linear<30 * 30 * 4, 10>>;
#endif

static_assert(peak_activation_bytes<Net, 64> < 4_MiB);
