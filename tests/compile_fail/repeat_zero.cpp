// SPDX-License-Identifier: MIT
// A block that stands in the network no time.
// expect: error: .*Repeat: Repeat<N, Block> is N blocks one after another, at least one
// expect: empty_repeat<Repeat<0, Linear<32, 32>>>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Linear<784, 32>, Repeat<1, Linear<32, 32>>>;
#else
using Net = Sequential<Linear<784, 32>, Repeat<0, Linear<32, 32>>>;
#endif

static_assert(peak_activation_bytes<Net, 64> < 2_MiB);
