// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>

namespace cairn {

// Random numbers are a function of where they are used, not of how many were drawn before: a recomputed Dropout
// draws the mask of the first forward, and a restarted job goes on with the same numbers.
//
// The function is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC 2011).
// Key: the seed. Counter: the block's index (48 bits), the position of the stage (32 bits) and the step (48 bits).
struct random_key {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t position = 0;

  constexpr bool operator==(const random_key&) const = default;
};

// Where all random numbers of a program come from: equal seeds, equal bits.
struct seed {
  std::uint64_t value = 0;
};

// The four 32-bit numbers of block `index`.
constexpr std::array<std::uint32_t, 4> random_block(const random_key& key, std::uint64_t index) {
  std::array<std::uint32_t, 4> c{static_cast<std::uint32_t>(index),
                                 static_cast<std::uint32_t>((index >> 32) & 0xFFFFU) |
                                     static_cast<std::uint32_t>((key.step >> 32) << 16),
                                 key.position, static_cast<std::uint32_t>(key.step)};
  auto k0 = static_cast<std::uint32_t>(key.seed);
  auto k1 = static_cast<std::uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53U} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57U} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}

// Number `index` of the stream, as 32 random bits.
constexpr std::uint32_t random_bits(const random_key& key, std::uint64_t index) {
  return random_block(key, index / 4)[index % 4];
}

// Uniform in [0, 1): 24 bits for float, 32 for double; both exact.
template <class T>
constexpr T random_uniform(const random_key& key, std::uint64_t index) {
  if constexpr (sizeof(T) == 4) return static_cast<T>(random_bits(key, index) >> 8) * static_cast<T>(0x1p-24);
  else return static_cast<T>(random_bits(key, index)) * static_cast<T>(0x1p-32);
}

} // namespace cairn
