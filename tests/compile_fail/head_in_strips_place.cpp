// SPDX-License-Identifier: MIT
// A head before another layer.
// expect: error: .*head_in_strips: it is the last element of the whole network, before the loss
// expect: misplaced_head<(Net>|Sequential<head_in_strips<Linear<784, 64>)
#include <cairn/layer/head_in_strips.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Linear<784, 64>, head_in_strips<Linear<64, 10>>>;
#else
using Net = Sequential<head_in_strips<Linear<784, 64>>, Linear<64, 10>>;
#endif

static_assert(blueprint_of<Net, 16>::parameters > 0);
