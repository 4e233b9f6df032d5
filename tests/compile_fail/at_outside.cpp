// SPDX-License-Identifier: MIT
// A stored position that the network does not have.
// expect: error: .*at: a position lies outside the network .those of n stages are 0 to n - 1.
// expect: outside_network<at<2, 5>, 5>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 64>, ReLU, Linear<64, 64>, ReLU, Linear<64, 10>>;
#ifdef EXPECT_SUCCESS
using Model = checkpoint<at<2, 4>, Net>;
#else
using Model = checkpoint<at<2, 5>, Net>;
#endif

static_assert(peak_activation_bytes<Model, 64> < 2_MiB);
