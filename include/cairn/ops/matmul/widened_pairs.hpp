// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/matmul/avx2_registers.hpp>
#include <cairn/ops/matmul/avx512_registers.hpp>
#include <cairn/ops/matmul/finish_row.hpp>
#include <cairn/ops/matmul/product.hpp>
#include <cairn/ops/matmul/reduction.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Weights of bfloat16 for products of float: a word of a packed weight holds two neighbours of the reduction, the first one in
// its lower half. They are widened in registers, by one operation each, which is exact: a product has the bits that it has with
// the rounded weights in float.
constexpr std::uint32_t pair_of(float first, float second) {
  return static_cast<std::uint32_t>(bfloat16(second).bits) << 16 | bfloat16(first).bits;
}

// The words of a sliver of `columns` rows of the weight, one step of the reduction after another: two neighbours each, and a zero
// behind the last one of an odd number.
inline void pack_pairs(float* to, std::size_t columns, matrix<const float> weight, std::size_t first) {
  const std::size_t k = weight.columns;
  for (std::size_t i = 0; i < columns; ++i) {
    const float* const row = weight.data + (first + i) * weight.stride;
    for (std::size_t p = 0; p < k; p += 2)
      to[p / 2 * columns + i] = __builtin_bit_cast(float, pair_of(row[p], p + 1 < k ? row[p + 1] : 0.0F));
  }
}

// Kernels for any machine: vectors are left to the compiler.
struct plain_pair_kernels {
  static constexpr std::size_t widest = 16, in_word = 2;
  static constexpr std::size_t sliver_columns(std::size_t left) { return left < widest ? left : widest; }

  static void rows(const sliver<float>& s) {
    for (std::size_t row = s.row_begin; row < s.row_end; ++row) {
      float sums[widest] = {};
      for (std::size_t done = 0; done < s.depth;) {
        const std::size_t end = done + reduction_chain < s.depth ? done + reduction_chain : s.depth;
        float chain[widest] = {};
        for (; done < end; ++done) add_step(chain, s, s.a[(row - s.row_begin) * s.a_row + done * s.a_step], done);
        for (std::size_t j = 0; j < s.columns; ++j) sums[j] += chain[j];
      }
      finish(s, row, sums);
    }
  }
  static void row_of_two(const sliver<float>& s) {
    sliver<float> one = s;
    rows(one);
    one.column += widest;
    one.b += s.b_next;
    if (one.carry != nullptr) one.carry += widest;
    rows(one);
  }

private:
  static void add_step(float* chain, const sliver<float>& s, float a, std::size_t p) {
    const float* const words = s.b + p / 2 * s.b_step;
    for (std::size_t j = 0; j < s.columns; ++j) {
      const auto pair = __builtin_bit_cast(std::uint32_t, words[j]);
      chain[j] += a * __builtin_bit_cast(float, p % 2 == 0 ? pair << 16 : pair & 0xFFFF0000U);
    }
  }
  static void finish(const sliver<float>& s, std::size_t row, float* sums) {
    if (s.carry != nullptr) {
      float* const carry = s.carry + (row - s.row_begin) * s.carry_row;
      for (std::size_t j = 0; s.reads_carry && j < s.columns; ++j) sums[j] = carry[j] + sums[j];
      for (std::size_t j = 0; s.writes_carry && j < s.columns; ++j) carry[j] = sums[j];
      if (s.writes_carry) return;
    }
    finish_row(*s.whole, row, s.column, s.columns, sums);
  }
};

#if CAIRN_X86

// Registers of words that hold pairs. A word is loaded as a float, whose bits stay as they are. Compilers would rather load it
// twice than keep it in a register, but loads are what there is least of.
template <class T, std::size_t Bytes>
struct avx512_pair_register : avx512_register<T, Bytes> {
  using typename avx512_register<T, Bytes>::vector;
  using words = typename simd<T, Bytes>::integers;
  static constexpr std::size_t in_word = 2;

  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector in_a_register(vector x) {
    __asm__("" : "+v"(x));
    return x;
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector first_of(vector x) {
    return reinterpret_cast<vector>(reinterpret_cast<words>(x) << 16);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector second_of(vector x) {
    return reinterpret_cast<vector>(reinterpret_cast<words>(x) & static_cast<int>(0xFFFF0000U));
  }
};
template <class T>
struct avx2_pair_register : avx2_register<T> {
  using typename avx2_register<T>::vector;
  using words = typename simd<T, 32>::integers;
  static constexpr std::size_t in_word = 2;

  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector in_a_register(vector x) {
    __asm__("" : "+x"(x));
    return x;
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector first_of(vector x) {
    return reinterpret_cast<vector>(reinterpret_cast<words>(x) << 16);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector second_of(vector x) {
    return reinterpret_cast<vector>(reinterpret_cast<words>(x) & static_cast<int>(0xFFFF0000U));
  }
};

#endif

} // namespace cairn::detail

CAIRN_KERNELS_END
