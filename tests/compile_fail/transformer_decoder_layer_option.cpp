// SPDX-License-Identifier: MIT
// Two masks.
// expect: error: .*TransformerDecoderLayer: its number of heads divides its width, and each option is given once
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/transformer_decoder_layer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Inputs<dims<16, 12>, dims<9, 12>>, TransformerDecoderLayer<12, 4, 24, attention::causal>>;
#else
using Net = Sequential<Inputs<dims<16, 12>, dims<9, 12>>, TransformerDecoderLayer<12, 4, 24, attention::causal, attention::full>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
