// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <cairn/core/random.hpp>

namespace cairn::detail {

// A number in [0, bound) from 64 random bits: the upper half of their product (Lemire: Fast random integer generation
// in an interval. 2019). Without a rejection step the bias is below bound / 2^64.
constexpr std::uint64_t random_below(std::uint64_t bits, std::uint64_t bound) {
  const std::uint64_t low_bits = bits & 0xFFFFFFFFU;
  const std::uint64_t high_bits = bits >> 32;
  const std::uint64_t low_bound = bound & 0xFFFFFFFFU;
  const std::uint64_t high_bound = bound >> 32;
  const std::uint64_t carry = (low_bits * low_bound) >> 32;
  const std::uint64_t middle = high_bits * low_bound + carry;
  const std::uint64_t other = low_bits * high_bound + (middle & 0xFFFFFFFFU);
  return high_bits * high_bound + (middle >> 32) + (other >> 32);
}

// The same from the number of a stream that has this index.
inline std::size_t random_below(const random_key& key, std::uint64_t index, std::size_t bound) {
  return static_cast<std::size_t>(random_below(std::uint64_t{ops::random_bits(key, index)} << 32, bound));
}

// Constants that are mixed into a seed, one for each purpose: a shuffle, a split, a transform and a Dropout of the same seed
// do not see the same numbers.
inline constexpr std::uint64_t shuffle_purpose = 0x9D5C3A1F6E0B7248U;
inline constexpr std::uint64_t transform_purpose = 0x4B1FE6D208A79C35U;
inline constexpr std::uint64_t split_purpose = 0xC8673D92E15FA04BU;

// Replaces `indices` by 0 … count - 1 in an order that depends on (seed, step) alone: Fisher and Yates's shuffle over
// counter-based numbers. std::shuffle is not used because each standard library draws it differently, and ranks on
// different machines have to agree.
inline void permute(std::vector<std::size_t>& indices, std::size_t count, std::uint64_t seed, std::uint64_t step) {
  indices.resize(count);
  for (std::size_t i = 0; i < count; ++i) indices[i] = i;
  const random_key key{.seed = seed ^ shuffle_purpose, .step = step};
  std::array<std::uint32_t, 4> block{};
  for (std::size_t i = count; i > 1; --i) { // element i - 1 is drawn from the first i; a block serves two draws
    const std::size_t draw = count - i;
    if (draw % 2 == 0) block = random_block(key, draw / 2);
    const std::size_t half = draw % 2 * 2;
    const std::uint64_t bits = (std::uint64_t{block[half]} << 32) | block[half + 1];
    std::swap(indices[i - 1], indices[static_cast<std::size_t>(random_below(bits, i))]);
  }
}

} // namespace cairn::detail
