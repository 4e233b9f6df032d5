// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <cairn/ops/matmul/bytes_plain.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Kernels for weights in bytes with AVX2: bytes are widened to 16 bits, and an instruction adds pairs of products. A row of a has
// 2 digits of 12 bits.
template <class T>
struct bytes_avx2 {
  typedef int integers __attribute__((vector_size(32)));
  typedef float floats __attribute__((vector_size(32)));
  typedef float loose_floats __attribute__((vector_size(32), aligned(4), may_alias));
  typedef int loose_integers __attribute__((vector_size(32), aligned(4), may_alias));
  typedef short words __attribute__((vector_size(32)));
  typedef short loose_words __attribute__((vector_size(32), aligned(1), may_alias));
  typedef char chars __attribute__((vector_size(32)));
  typedef long long quads __attribute__((vector_size(32)));
  typedef signed char loose_bytes __attribute__((vector_size(16), aligned(1), may_alias));
  typedef long long loose_quad __attribute__((aligned(1), may_alias));
  static constexpr std::size_t sliver = 16;
  static constexpr std::size_t digit_bytes = 16;
  static constexpr std::size_t block = 512; // groups, after which no sum of 32 bits is too large

  CAIRN_TARGET_AVX2 static void find_largest(std::uint32_t& largest, const float* x, std::size_t k) {
    integers most{};
    std::size_t p = 0;
    for (; p + 8 <= k; p += 8) {
      const integers bits = *reinterpret_cast<const loose_integers*>(x + p) & 0x7FFFFFFF;
      most = bits > most ? bits : most;
    }
    alignas(32) std::uint32_t each[8];
    *reinterpret_cast<integers*>(each) = most;
    for (const std::uint32_t one : each) largest = std::max(largest, one);
    bytes_plain<T>::find_largest(largest, x + p, k - p);
  }
  // integer_of() for 8 elements.
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static inline integers integers_of(const float* x, float inverse) {
    const floats in_units = *reinterpret_cast<const loose_floats*>(x) * inverse;
    const floats half = in_units < 0 ? floats{} - 0.5F : floats{} + 0.5F;
    const integers rounded = __builtin_convertvector(in_units + half, integers);
    constexpr int most = (1 << 23) - 1;
    return (rounded < most ? rounded : integers{} + most) + (1 << 23);
  }
  CAIRN_TARGET_AVX2 static void write_digits(std::byte* to, const float* x, std::size_t k, float inverse) {
    std::size_t p = 0;
    for (; p + 8 <= k; p += 8, to += 2 * digit_bytes) {
      const integers whole = integers_of(x + p, inverse);
      *reinterpret_cast<loose_words*>(to) = reinterpret_cast<words>(__builtin_ia32_packusdw256(whole & 4095, whole >> 12));
    }
    for (; p < k; p += 4, to += digit_bytes) {
      std::uint32_t x4[4] = {};
      for (std::size_t i = 0; i < 4 && p + i < k; ++i) x4[i] = integer_of(x[p + i], inverse);
      write_group(to, x4);
    }
  }

  CAIRN_TARGET_AVX2 static void sums(double* totals, const std::byte* digits, std::size_t row_bytes, std::size_t rows,
                                     const std::int8_t* weight, std::size_t, std::size_t groups) {
    for (std::size_t r = 0; r < rows; ++r) of_row(totals + r * sliver, digits + r * row_bytes, weight, groups);
  }
  static void scale(float* values, const double* totals, const std::int32_t* sums, const float* scales, double step,
                    std::size_t columns) {
    bytes_plain<T>::scale(values, totals, sums, scales, step, columns);
  }

private:
  static void write_group(std::byte* to, const std::uint32_t* x) {
    std::uint16_t digits[8];
    for (std::size_t i = 0; i < 4; ++i) {
      digits[i] = static_cast<std::uint16_t>(x[i] & 4095U);
      digits[4 + i] = static_cast<std::uint16_t>(x[i] >> 12);
    }
    std::memcpy(to, digits, sizeof digits);
  }

  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static inline words digit(const std::byte* at) {
    return reinterpret_cast<words>(quads{} + *reinterpret_cast<const loose_quad*>(at));
  }
  // 16 bytes in 16 bits each. The instruction is written out, as g++ makes four of a conversion of vectors.
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static inline words widened(const std::int8_t* at) {
    words w;
    __asm__("vpmovsxbw %1, %0" : "=x"(w) : "m"(*reinterpret_cast<const loose_bytes*>(at)));
    return w;
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static inline integers products(words x, words w) {
    return reinterpret_cast<integers>(__builtin_ia32_pmaddwd256(x, w));
  }
  template <std::size_t... Q>
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static inline void step(integers* low, integers* high, const std::byte* digits,
                                                                   const std::int8_t* weight, std::index_sequence<Q...>) {
    const words x = digit(digits), y = digit(digits + 8);
    const words w[4] = {widened(weight + 16 * Q)...};
    ((low[Q] += products(x, w[Q])), ...);
    ((high[Q] += products(y, w[Q])), ...);
  }
  CAIRN_TARGET_AVX2 static void of_row(double* totals, const std::byte* digits, const std::int8_t* weight, std::size_t groups) {
    std::fill_n(totals, sliver, 0.0);
    for (std::size_t g = 0; g < groups;) {
      integers low[4] = {}, high[4] = {};
      for (const std::size_t end = std::min(groups, g + block); g < end; ++g, digits += digit_bytes, weight += 4 * sliver)
        step(low, high, digits, weight, std::make_index_sequence<4>{});
      alignas(32) std::int32_t parts[2][32];
      for (std::size_t q = 0; q < 4; ++q) {
        *reinterpret_cast<integers*>(parts[0] + 8 * q) = low[q];
        *reinterpret_cast<integers*>(parts[1] + 8 * q) = high[q];
      }
      for (std::size_t j = 0; j < sliver; ++j) // each column has two sums of two products a group
        totals[j] += static_cast<double>(parts[0][2 * j] + parts[0][2 * j + 1]) +
                     4096.0 * static_cast<double>(parts[1][2 * j] + parts[1][2 * j + 1]);
    }
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

#endif
