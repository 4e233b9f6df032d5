// SPDX-License-Identifier: MIT
// A Residual without a layer.
// expect: error: .*Residual: it needs at least one layer, whose result is added to the input
// expect: empty_residual<Residual<>>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Block = Residual<Linear<64, 64>>;
#else
using Block = Residual<>;
#endif
using Net = Sequential<Linear<784, 64>, Block>;

static_assert(peak_activation_bytes<Net, 64> < 2_MiB);
