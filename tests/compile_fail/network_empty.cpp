// SPDX-License-Identifier: MIT
// A network without a layer.
// expect: error: .*Sequential: a network has at least one layer
// expect: empty_network<Sequential<Sequential<>>>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
static_assert(peak_activation_bytes<Sequential<Sequential<Linear<784, 10>>>, 64> < 2_MiB);
#else
static_assert(peak_activation_bytes<Sequential<Sequential<>>, 64> < 2_MiB);
#endif
