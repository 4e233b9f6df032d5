// SPDX-License-Identifier: MIT
// Two activations.
// expect: error: .*TransformerEncoderLayer: its number of heads divides its width, and each option is given once
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/transformer_encoder_layer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<16, 12>, TransformerEncoderLayer<12, 4, 48, GELU, attention::norm_first>>;
#else
using Net = Sequential<Input<16, 12>, TransformerEncoderLayer<12, 4, 48, GELU, attention::norm_first, Tanh>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
