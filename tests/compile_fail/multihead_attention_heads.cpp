// SPDX-License-Identifier: MIT
// Heads that do not divide the width.
// expect: error: .*MultiheadAttention: its number of heads divides its width
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/multihead_attention.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<16, 12>, MultiheadAttention<12, 4, attention::causal>>;
#else
using Net = Sequential<Input<16, 12>, MultiheadAttention<12, 5, attention::causal>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
