// SPDX-License-Identifier: MIT
// Steps of a layer that has no state.
// expect: error: .*Unroll: it has at least one step, and its cell is a layer with  using inputs
// expect: wrong_unroll<.*Unroll<5, .*Linear<3, 4
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/recurrent/gru_cell.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/unroll.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<5, 3>, Unroll<5, GRUCell<3, 4>>>;
#else
using Net = Sequential<Input<5, 3>, Unroll<5, Linear<3, 4>>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
