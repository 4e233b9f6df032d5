// SPDX-License-Identifier: MIT
// A Residual with a shortcut and nothing beside it.
// expect: error: .*Residual: its shortcut and the layers behind that have at least one layer each
// expect: empty_shortcut<Residual<shortcut<Linear<64, 64> ?> ?>>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Block = Residual<shortcut<Linear<64, 64>>, ReLU>;
#else
using Block = Residual<shortcut<Linear<64, 64>>>;
#endif
using Net = Sequential<Linear<784, 64>, Block>;

static_assert(peak_activation_bytes<Net, 64> < 2_MiB);
