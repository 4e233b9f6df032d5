// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

namespace bert_table {

// The largest batches of BERT-Large whose training fits into 12 GB, for sequences of so many tokens: as TensorFlow was measured,
// and as planned from the types under three policies.
struct row {
  std::size_t tokens, tensorflow, store_all, sqrt_n, layer_inputs;
};
std::array<row, 6> largest_batches();

// The bytes of activations that are stored for one layer and one sample of 512 tokens, in 2 bytes for each element as in
// Megatron's formula sbh (34 + 5 as / h), and that formula.
struct layer_bytes {
  double stored, megatron;
};
layer_bytes of_a_layer();

} // namespace bert_table
