// SPDX-License-Identifier: MIT
// A network whose first layer takes anything.
// expect: error: .*Sequential: the first layer takes inputs of any shape
// expect: put Input<extents...> before it
// expect: begins_with<Flatten>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<28, 28, 1>, Flatten, Linear<784, 10>>;
#else
using Net = Sequential<Flatten, Linear<784, 10>>;
#endif

static_assert(peak_activation_bytes<Net, 64> < 2_MiB);
