// SPDX-License-Identifier: MIT
// A joint that does not fit, three blocks deep.
// expect: error: .*Sequential: the layer at this position does not accept what the layer before it produces
// expect: joint<1, Linear<32, 64>, dims<64>, Linear<32, 32>>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Block = checkpoint<sqrt_n, Sequential<ReLU, Residual<Linear<32, 64>, Linear<64, 32>>>>;
#else
using Block = checkpoint<sqrt_n, Sequential<ReLU, Residual<Linear<32, 64>, Linear<32, 32>>>>;
#endif
using Net = Sequential<Linear<784, 32>, Repeat<4, Sequential<Linear<32, 32>, Block>>, Linear<32, 10>>;

static_assert(peak_activation_bytes<checkpoint<sqrt_n, Net>, 64> < 2_MiB);
