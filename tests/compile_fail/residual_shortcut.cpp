// SPDX-License-Identifier: MIT
// A Residual whose shortcut gives another shape than its layers.
// expect: error: .*Residual: its shortcut and its layers each make one tensor of the input, of the same shape
// expect: shortcut_ends<Residual<shortcut<Linear<64, 48> ?>, Linear<64, 32>>, dims<64>, dims<48>, dims<32>>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Linear<784, 64>, Residual<shortcut<Linear<64, 32>>, Linear<64, 32>>, Linear<32, 10>>;
#else
using Net = Sequential<Linear<784, 64>, Residual<shortcut<Linear<64, 48>>, Linear<64, 32>>, Linear<32, 10>>;
#endif

static_assert(peak_activation_bytes<Net, 64> < 2_MiB);
