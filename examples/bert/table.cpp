// SPDX-License-Identifier: MIT
#include "table.hpp"

#include <cairn/layer/embedding.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/learned_positions.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/largest_batch.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/transformer_encoder_layer.hpp>
#include <cairn/plan/policies.hpp>

namespace bert_table {

namespace {

using namespace cairn;

using Layer = TransformerEncoderLayer<1024, 16, 4096, GELU>;
// BERT-Large with two classes for each token, as the table of its authors is of fine-tuning.
template <std::size_t Tokens, class OneLayer>
using Large = Sequential<Inputs<integers<Tokens>>, Embedding<30522, 1024>, LearnedPositions<512, 1024>, LayerNorm<1024>,
                         Repeat<24, OneLayer>, Linear<1024, 2>>;
// Weights, gradients and the two averages of AdamW, in float.
constexpr std::size_t left = 12'000'000'000 - 16 * blueprint_of<Large<64, Layer>, 1>::parameters;

template <std::size_t Tokens>
constexpr row row_of(std::size_t tensorflow) {
  return {Tokens, tensorflow, plan::largest_batch<Large<Tokens, Layer>, left>,
          plan::largest_batch<checkpoint<sqrt_n, Large<Tokens, Layer>>, left>,
          plan::largest_batch<Large<Tokens, checkpoint<recompute_all, Sequential<Layer>>>, left>};
}
// google-research/bert, README: Out-of-memory issues, a Titan X of 12 GB.
constexpr std::array<row, 6> rows{row_of<64>(12), row_of<128>(6), row_of<256>(2), row_of<320>(1), row_of<384>(0), row_of<512>(0)};

// What two layers store more than one.
template <std::size_t Layers>
using Stack = Sequential<Inputs<integers<512>>, Embedding<30522, 1024>, Repeat<Layers, Layer>, Linear<1024, 2>>;
constexpr std::size_t stored = (peak_activation_bytes<Stack<6>, 1> - peak_activation_bytes<Stack<2>, 1>) / 4;

} // namespace

std::array<row, 6> largest_batches() { return rows; }

layer_bytes of_a_layer() {
  constexpr double s = 512, h = 1024, a = 16;
  return {static_cast<double>(stored) / 2, s * h * (34 + 5 * a * s / h)};
}

} // namespace bert_table
