// SPDX-License-Identifier: MIT
// Heads that do not divide the width.
// expect: error: .*MultiheadAttention: of two tensors, its number of heads divides its width, attention::cross is its first option
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/cross_attention.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Inputs<dims<16, 12>, dims<9, 12>>, MultiheadAttention<12, 4, attention::cross, attention::causal>>;
#else
using Net = Sequential<Inputs<dims<16, 12>, dims<9, 12>>, MultiheadAttention<12, 5, attention::cross, attention::causal>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
