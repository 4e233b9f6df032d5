// SPDX-License-Identifier: MIT
// A normalisation of another number of channels.
// expect: error: .*Sequential: the layer at this position does not accept what the layer before it produces: it is for another number of channels
// expect: joint<2, Conv2d<3, 4, 3>, dims<30, 30, 4>, (BatchNorm2d<8|Norm)
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Norm = BatchNorm2d<4>;
#else
using Norm = BatchNorm2d<8>;
#endif

using Net = Sequential<Input<32, 32, 3>, Conv2d<3, 4, 3>, Norm, Flatten, Linear<30 * 30 * 4, 10>>;
static_assert(peak_activation_bytes<Net, 64> < 4_MiB);
