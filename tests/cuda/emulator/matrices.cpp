// SPDX-License-Identifier: MIT
// Products of small matrices that a warp computes together, mma.m16n8k8: D = A B + C, where D and C are 16 x 8 floats, A is 16 x 8
// and B 8 x 8 elements of 16 bits, and each lane has some of each.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>

#include "block.hpp"

namespace emulator {

namespace {

float element(type as, std::uint32_t bits) {
  if (as == type::bf16) return std::bit_cast<float>(bits << 16);
  return static_cast<float>(cairn::float16::from_bits(static_cast<std::uint16_t>(bits)));
}

} // namespace

// The sum of an element is exact up to one rounding; a GPU may round it otherwise.
void block::multiply_in_warp(std::uint32_t first, std::uint32_t end, const instruction& i) {
  constexpr std::size_t rows = 16, columns = 8, depth = 8;
  std::array<std::array<float, depth>, rows> a{};
  std::array<std::array<float, columns>, depth> b{};
  const matrices& of = grid_.code->products[i.target];
  for (std::uint32_t t = first; t < end; ++t) {
    const std::size_t group = (t - first) / 4, pair = (t - first) % 4 * 2;
    const auto both = [&](std::size_t place, float& low, float& high) {
      const auto bits = threads_[t].read<std::uint32_t>(i, of[place]);
      low = element(i.from, bits & 0xFFFF), high = element(i.from, bits >> 16);
    };
    both(4, a[group][pair], a[group][pair + 1]);
    both(5, a[group + 8][pair], a[group + 8][pair + 1]);
    both(6, b[pair][group], b[pair + 1][group]);
  }
  for (std::uint32_t t = first; t < end; ++t) {
    thread& x = threads_[t];
    for (std::size_t n = 0; n < 4; ++n) {
      const std::size_t row = (t - first) / 4 + n / 2 * 8, column = (t - first) % 4 * 2 + n % 2;
      double sum = x.read<float>(i, of[7 + n]);
      for (std::size_t k = 0; k < depth; ++k) sum += static_cast<double>(a[row][k]) * static_cast<double>(b[k][column]);
      x.write(of[n], static_cast<float>(sum));
    }
    x.is = thread::state::ready;
    ++x.at;
  }
}

} // namespace emulator
