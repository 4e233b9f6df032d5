// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/random.hpp>

namespace cairn {

// How likely a number is dropped, in units of 2^-32, and what the others are multiplied by.
struct dropout_rate {
  std::uint64_t threshold; // 0 … 2^32
  double scale;            // 1 / (1 - probability), or 0 when all are dropped
};

// dropout(queue, count, result, x, random_key, dropout_rate)
//   result_i = random_bits(key, i) < threshold ? 0 : scale x_i
//
// The mask is nowhere stored: number i of the stream decides about element i, so forward, recompute and
// backward, which is the same function of the output gradient, draw the same one. The result may lie on x.

} // namespace cairn
