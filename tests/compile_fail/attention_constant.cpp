// SPDX-License-Identifier: MIT
// A mask of another number of tokens than the sequence has, and no key lengths.
// expect: error: .*attention: one of its options reads a constant of the network, and there is none that fits
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/multihead_attention.hpp>

using namespace cairn;

using Attention = MultiheadAttention<12, 4, attention::added_mask, attention::key_lengths>;
#ifdef EXPECT_SUCCESS
using Net = Sequential<Inputs<dims<16, 12>, constant<16, 16>, integer_constant<>>, Attention>;
#else
using Net = Sequential<Inputs<dims<16, 12>, constant<12, 12>>, Attention>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
