// SPDX-License-Identifier: MIT
// A shortcut behind the layers that it goes past.
// expect: error: .*Residual: its shortcut is its first argument, and there is one
// expect: misplaced_shortcut<Residual<Linear<64, 32>, shortcut<Linear<64, 32> ?> ?>>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Block = Residual<shortcut<Linear<64, 32>>, Linear<64, 32>>;
#else
using Block = Residual<Linear<64, 32>, shortcut<Linear<64, 32>>>;
#endif
using Net = Sequential<Linear<784, 64>, Block>;

static_assert(peak_activation_bytes<Net, 64> < 2_MiB);
