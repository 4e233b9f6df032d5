// SPDX-License-Identifier: MIT
// Attention to a memory, of one tensor.
// expect: error: .*Sequential: the layer at this position does not accept what the layer before it produces
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/cross_attention.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Inputs<dims<16, 12>, dims<9, 12>>, MultiheadAttention<12, 4, attention::cross>>;
#else
using Net = Sequential<Input<16, 12>, MultiheadAttention<12, 4, attention::cross>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
