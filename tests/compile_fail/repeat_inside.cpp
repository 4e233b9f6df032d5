// SPDX-License-Identifier: MIT
// A joint that does not fit, inside a block that stands in the network many times.
// expect: error: .*Sequential: the layer at this position does not accept what the layer before it produces
// expect: joint<3, ReLU, dims<64>, Linear<32, 32>>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Block = Sequential<Linear<32, 64>, ReLU, Linear<64, 32>>;
#else
using Block = Sequential<Linear<32, 64>, ReLU, Linear<32, 32>>;
#endif
using Net = Sequential<Linear<784, 32>, Repeat<100, Block>, Linear<32, 10>>;

static_assert(peak_activation_bytes<Net, 64> < 4_MiB);
