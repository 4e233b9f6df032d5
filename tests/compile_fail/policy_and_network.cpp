// SPDX-License-Identifier: MIT
// Policy and network in the wrong order.
// expect: error: .*checkpoint: the first argument is no policy
// expect: checked_policy<Sequential<Linear<784, 10>>, 1,
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
static_assert(peak_activation_bytes<checkpoint<sqrt_n, Sequential<Linear<784, 10>>>, 64> < 2_MiB);
#else
static_assert(peak_activation_bytes<checkpoint<Sequential<Linear<784, 10>>, sqrt_n>, 64> < 2_MiB);
#endif
