// SPDX-License-Identifier: MIT
// A repeated block that gives another shape than it takes.
// expect: error: .*Repeat: the block gives another shape than it takes, so it cannot follow itself
// expect: repeated_joint<4, ReLU, dims<64>, Linear<32, 64>>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Block = Sequential<Linear<32, 32>, ReLU>;
using Net = Sequential<Linear<784, 32>, ReLU, Repeat<3, Block>, Linear<32, 10>>;
#else
using Block = Sequential<Linear<32, 64>, ReLU>;
using Net = Sequential<Linear<784, 32>, ReLU, Repeat<3, Block>, Linear<64, 10>>;
#endif

static_assert(peak_activation_bytes<Net, 64> < 2_MiB);
