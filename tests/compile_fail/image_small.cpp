// SPDX-License-Identifier: MIT
// A kernel that is larger than what it goes over.
// expect: error: .*Sequential: the layer at this position does not accept what the layer before it produces: its kernel is larger than the image
// expect: joint<1, Input<4, 4, 3>, dims<4, 4, 3>, Conv2d<3, 4, 5>>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<4, 4, 3>, Conv2d<3, 4, 3>, Flatten, Linear<2 * 2 * 4, 10>>;
#else
using Net = Sequential<Input<4, 4, 3>, Conv2d<3, 4, 5>, Flatten, Linear<2 * 2 * 4, 10>>;
#endif

static_assert(peak_activation_bytes<Net, 64> < 4_MiB);
