// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>

#include <cairn/core/random.hpp>

namespace cairn {

// Fills `numbers` with independent normal numbers of mean 0 and variance 1; number i depends on (key, first + i) alone.
// Box and Muller (1958): for u in (0, 1] and v in [0, 1), r = sqrt(-2 ln u), the pair r cos(2 pi v), r sin(2 pi v).
// Each u has 32 bits, so that no number is beyond 6.7. The last bits are those of the machine's log, cos and sin.
template <class T>
void fill_normal(std::span<T> numbers, const random_key& key, std::uint64_t first = 0) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint64_t index = first + i;
    if (i != 0 && index % 2 != 0) continue; // written with its pair
    const auto block = random_block(key, index / 4);
    const std::size_t half = index % 4 / 2 * 2;
    const double radius = std::sqrt(-2 * std::log((block[half] + 1.0) * 0x1p-32));
    const double angle = 2 * std::numbers::pi * (block[half + 1] * 0x1p-32);
    if (index % 2 == 0) numbers[i] = static_cast<T>(radius * std::cos(angle));
    if (index % 2 != 0) numbers[i] = static_cast<T>(radius * std::sin(angle));
    else if (i + 1 < numbers.size()) numbers[i + 1] = static_cast<T>(radius * std::sin(angle));
  }
}

} // namespace cairn
