// SPDX-License-Identifier: MIT
// Attention over an input of one extent: there are no tokens.
// expect: error: .*Sequential: the layer at this position does not accept what the layer before it produces.*joint
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/multihead_attention.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<16, 12>, MultiheadAttention<12, 4>>;
#else
using Net = Sequential<Input<12>, MultiheadAttention<12, 4>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
