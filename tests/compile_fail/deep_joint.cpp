// SPDX-License-Identifier: MIT
// A joint that does not fit, far from the ends of the network.
// expect: error: .*Sequential: the layer at this position does not accept what the layer before it produces
// expect: joint<6, ReLU, dims<48>, Linear<64, 10>>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Linear<784, 256>, ReLU, Sequential<Linear<256, 64>, ReLU>, Linear<64, 48>, ReLU, Linear<48, 10>>;
#else
using Net = Sequential<Linear<784, 256>, ReLU, Sequential<Linear<256, 64>, ReLU>, Linear<64, 48>, ReLU, Linear<64, 10>>;
#endif

static_assert(peak_activation_bytes<Net, 64> < 2_MiB);
