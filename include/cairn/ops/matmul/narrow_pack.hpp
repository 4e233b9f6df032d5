// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/narrow_registers.hpp>
#include <cairn/ops/matmul/narrow_product.hpp>
#include <cairn/ops/matmul/pack_avx2.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Packing of 16-bit elements, in two steps. First neighbours in the reduction become pairs, of which the first element is the
// lower half of a word: what instructions for bfloat16 read. Then, for the kernels of floats, each pair becomes two floats.

// Elements (p, j) of an operand, p counting steps of the reduction, that are `step` and `neighbour` apart.
template <class T>
struct narrow_part {
  const T* from = nullptr;
  std::size_t step = 0, neighbour = 0;
  std::size_t columns = 0, depth = 0;

  const T* at(std::size_t p, std::size_t j) const { return from + p * step + j * neighbour; }
  std::uint32_t word(std::size_t p, std::size_t j) const { return p < depth && j < columns ? at(p, j)->bits : 0; }
};

// Packs pairs [q, q_end) of columns [begin, width), one at a time: to[q * width + j], zero where there is no element.
template <class T>
void pack_pairs_plain(std::uint32_t* words, std::size_t width, const narrow_part<T>& of, std::size_t q, std::size_t q_end,
                      std::size_t begin = 0) {
  typedef std::uint32_t loose __attribute__((may_alias)); // kernels read words as floats
  auto* const to = reinterpret_cast<loose*>(words);
  for (; q < q_end; ++q)
    for (std::size_t j = begin; j < width; ++j) to[q * width + j] = of.word(2 * q, j) | of.word(2 * q + 1, j) << 16;
}

// A pair of bfloat16 is taken in the order of matmul.hpp, its second element first.
template <class T>
void widen_pairs_plain(float* to, std::size_t width, const std::uint32_t* pairs, std::size_t depth) {
  for (std::size_t p = 0; p < depth; ++p) {
    const bool turned = reduces_in_pairs<T> && (p ^ 1U) < depth;
    for (std::size_t j = 0; j < width; ++j) {
      const std::uint32_t pair = pairs[p / 2 * width + j];
      to[(turned ? p ^ 1U : p) * width + j] =
          static_cast<float>(T::from_bits(static_cast<std::uint16_t>(p % 2 == 0 ? pair : pair >> 16)));
    }
  }
}

#if CAIRN_X86

// The same for a width that is a multiple of 8.
template <class T>
CAIRN_TARGET_AVX2 void pack_pairs_avx2(std::uint32_t* to, std::size_t width, const narrow_part<T>& of) {
  using eight = eight_words;
  const std::size_t pairs = of.depth / 2;
  if (of.neighbour == 1) {
    const std::size_t whole = of.columns / 8 * 8;
    for (std::size_t q = 0; q < pairs; ++q) {
      const T* const first = of.from + 2 * q * of.step;
      const T* const second = first + of.step;
      for (std::size_t j = 0; j < whole; j += 8)
        *reinterpret_cast<eight::loose*>(to + q * width + j) = eight::load(first + j) | eight::load(second + j) << 16;
    }
    if (whole < width) pack_pairs_plain(to, width, of, 0, pairs, whole);
  } else {
    pack_transposed_avx2(reinterpret_cast<float*>(to), width, of.from, of.neighbour, of.columns, pairs);
  }
  pack_pairs_plain(to, width, of, pairs, (of.depth + 1) / 2);
}

template <class T>
CAIRN_TARGET_AVX2 void widen_pairs_avx2(float* to, std::size_t width, const std::uint32_t* pairs, std::size_t depth) {
  using loose = typename simd<float, 32>::loose;
  const std::size_t first = reduces_in_pairs<T> ? width : 0, second = reduces_in_pairs<T> ? 0 : width;
  std::size_t p = 0;
  for (; p + 2 <= depth; p += 2, to += 2 * width, pairs += width)
    for (std::size_t j = 0; j < width; j += 8) {
      const eight_words::words pair = *reinterpret_cast<const eight_words::loose*>(pairs + j);
      *reinterpret_cast<loose*>(to + first + j) = eight_of<T>::widened(pair & 0xFFFFU);
      *reinterpret_cast<loose*>(to + second + j) = eight_of<T>::widened(pair >> 16);
    }
  if (p < depth) widen_pairs_plain<T>(to, width, pairs, 1);
}

#endif

} // namespace cairn::detail

CAIRN_KERNELS_END
