// SPDX-License-Identifier: MIT
// A Residual whose layers give another shape than they take.
// expect: error: .*Residual: its layers give another shape than they take, so the input cannot be added
// expect: residual_ends<Residual<Linear<64, 64>, ReLU, Linear<64, 32>>, dims<64>, dims<32>>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Linear<784, 64>, Repeat<2, Residual<Linear<64, 64>, ReLU, Linear<64, 64>>>, Linear<64, 10>>;
#else
using Net = Sequential<Linear<784, 64>, Repeat<2, Residual<Linear<64, 64>, ReLU, Linear<64, 32>>>, Linear<32, 10>>;
#endif

static_assert(peak_activation_bytes<Net, 64> < 2_MiB);
