// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::types {

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

} // namespace cairn::types

namespace cairn::detail {

// The key of a forward pass. Micro-batches of a step are counted over all ranks, so that the random numbers do not depend on
// how many ranks there are. The index of one of the first 65,536 is a part of the key's step; beyond them the seed changes.
constexpr random_key key_of_micro_batch(std::uint64_t seed, std::uint64_t step, std::uint64_t micro_batch) {
  constexpr std::uint64_t of_step = 1U << 16;
  return {
      .seed = seed + micro_batch / of_step * 0x9E3779B97F4A7C15U, .step = step * of_step + micro_batch % of_step, .position = 0};
}

} // namespace cairn::detail

namespace cairn {

// The source of all random numbers of a program: equal seeds give equal bits.
struct seed {
  std::uint64_t value = 0;
};

} // namespace cairn

namespace cairn::detail {

// The four 32-bit numbers of a block, and the function that makes them. Not a std::array: device code may call only functions
// that are marked for it, and those of the standard library are not.
struct philox_words {
  std::uint32_t at[4];
};
CAIRN_HOST_DEVICE constexpr philox_words philox(const random_key& key, std::uint64_t index) {
  philox_words c{{static_cast<std::uint32_t>(index),
                  static_cast<std::uint32_t>((index >> 32) & 0xFFFFU) | static_cast<std::uint32_t>((key.step >> 32) << 16),
                  key.position, static_cast<std::uint32_t>(key.step)}};
  auto k0 = static_cast<std::uint32_t>(key.seed);
  auto k1 = static_cast<std::uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53U} * c.at[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57U} * c.at[2];
    c = {{static_cast<std::uint32_t>(p1 >> 32) ^ c.at[1] ^ k0, static_cast<std::uint32_t>(p1),
          static_cast<std::uint32_t>(p0 >> 32) ^ c.at[3] ^ k1, static_cast<std::uint32_t>(p0)}};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}

} // namespace cairn::detail

namespace cairn::ops {

// The four 32-bit numbers of block `index`.
constexpr std::array<std::uint32_t, 4> random_block(const types::random_key& key, std::uint64_t index) {
  const detail::philox_words words = detail::philox(key, index);
  return {words.at[0], words.at[1], words.at[2], words.at[3]};
}

// Number `index` of the stream, as 32 random bits. A kernel of a device may call it.
CAIRN_HOST_DEVICE constexpr std::uint32_t random_bits(const types::random_key& key, std::uint64_t index) {
  return detail::philox(key, index / 4).at[index % 4];
}

// Uniform in [0, 1): 24 bits for float, 32 for double; both exact. A kernel of a device may call it.
template <class T>
CAIRN_HOST_DEVICE constexpr T random_uniform(const types::random_key& key, std::uint64_t index) {
  if constexpr (sizeof(T) == 4) return static_cast<T>(random_bits(key, index) >> 8) * static_cast<T>(0x1p-24);
  else return static_cast<T>(random_bits(key, index)) * static_cast<T>(0x1p-32);
}

} // namespace cairn::ops
