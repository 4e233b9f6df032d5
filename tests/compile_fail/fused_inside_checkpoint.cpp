// SPDX-License-Identifier: MIT
// A fused update inside the checkpoint of everything.
// expect: error: .*fused_update: it is a way to train a whole network and stands around all of it
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 64>, ReLU, Linear<64, 10>>;
#ifdef EXPECT_SUCCESS
using Model = fused_update<checkpoint<sqrt_n, Net>>;
#else
using Model = checkpoint<sqrt_n, fused_update<Net>>;
#endif

static_assert(peak_activation_bytes<Model, 64> < 2_MiB);
