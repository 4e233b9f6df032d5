// SPDX-License-Identifier: MIT
// A block inside of an in_float, which takes layers.
// expect: error: .*in_float: it takes layers, one or more, in a Sequential or a Repeat or by themselves
// expect: not_in_float<.*in_float<.*Residual<.*Linear<8, 8>>>>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/in_float.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Residual<in_float<Linear<8, 8>>>, Linear<8, 2>>;
#else
using Net = Sequential<in_float<Residual<Linear<8, 8>>>, Linear<8, 2>>;
#endif

static_assert(peak_activation_bytes<Net, 4> > 0);
