// SPDX-License-Identifier: MIT
// An Unroll that takes another number of steps than arrive.
// expect: error: .*Sequential: .*
// expect: joint<1, .*dims<6, 3>, .*Unroll<5, .*GRUCell<3, 4>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/recurrent/gru_cell.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/unroll.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<6, 3>, Unroll<6, GRUCell<3, 4>>>;
#else
using Net = Sequential<Input<6, 3>, Unroll<5, GRUCell<3, 4>>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
