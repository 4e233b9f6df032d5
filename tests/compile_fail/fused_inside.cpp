// SPDX-License-Identifier: MIT
// A fused update of a part of a network.
// expect: error: .*fused_update: it is a way to train a whole network and stands around all of it
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Model = fused_update<Sequential<Linear<784, 64>, ReLU, Linear<64, 10>>>;
#else
using Model = Sequential<Linear<784, 64>, ReLU, fused_update<Sequential<Linear<64, 10>>>>;
#endif

static_assert(peak_activation_bytes<Model, 64> < 2_MiB);
