// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <cairn/ops/matmul/bytes_avx2.hpp>
#include <cairn/ops/matmul/bytes_plain.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Kernels for weights in bytes with AVX-512 VNNI: an instruction adds 64 products of bytes, 4 steps of the reduction for 16 rows
// of the weight. A row of a has 3 digits of 8 bits. For 64 weights that is 3 instructions, where floats take 4.
template <class T>
struct bytes_avx512 {
  using by_avx2 = bytes_avx2<T>;
  typedef int vector __attribute__((vector_size(64)));
  typedef int loose __attribute__((vector_size(64), aligned(1), may_alias));
  typedef int loose_word __attribute__((aligned(1), may_alias));
  typedef int half __attribute__((vector_size(32)));
  typedef double eight __attribute__((vector_size(64)));
  static constexpr std::size_t sliver = 48;
  static constexpr std::size_t digit_bytes = 12;
  static constexpr std::size_t block = 1024; // groups, after which no sum of 32 bits is too large

  static void find_largest(std::uint32_t& largest, const float* x, std::size_t k) { by_avx2::find_largest(largest, x, k); }
  CAIRN_TARGET_AVX2 static void write_digits(std::byte* to, const float* x, std::size_t k, float inverse) {
    std::size_t p = 0;
    for (; p + 8 <= k; p += 8, to += 2 * digit_bytes) {
      alignas(32) std::byte both[32]; // of each half, the digits of a group, and 4 bytes that the next group replaces
      *reinterpret_cast<typename by_avx2::chars*>(both) = by_digits(by_avx2::integers_of(x + p, inverse));
      std::memcpy(to, both, 16);
      std::memcpy(to + digit_bytes, both + 16, 16);
    }
    for (; p < k; p += 4, to += digit_bytes) {
      std::uint32_t x4[4] = {};
      for (std::size_t i = 0; i < 4 && p + i < k; ++i) x4[i] = integer_of(x[p + i], inverse);
      write_group(to, x4);
    }
  }

  static void sums(double* totals, const std::byte* digits, std::size_t row_bytes, std::size_t rows, const std::int8_t* weight,
                   std::size_t columns, std::size_t groups) {
    if (rows == 2) return of_rows<2>(totals, digits, row_bytes, weight, columns, groups);
    of_rows<1>(totals, digits, row_bytes, weight, columns, groups);
  }
  CAIRN_TARGET_AVX512 static void scale(float* values, const double* totals, const std::int32_t* sums, const float* scales,
                                        double step, std::size_t columns) {
    typedef float narrow __attribute__((vector_size(32)));
    typedef float loose_narrow __attribute__((vector_size(32), aligned(4), may_alias));
    typedef int loose_half __attribute__((vector_size(32), aligned(4), may_alias));
    for (std::size_t j = 0; j < columns; j += 8) {
      const eight total = *reinterpret_cast<const eight*>(totals + j);
      const eight sum = __builtin_convertvector(static_cast<half>(*reinterpret_cast<const loose_half*>(sums + j)), eight);
      const eight by = __builtin_convertvector(static_cast<narrow>(*reinterpret_cast<const loose_narrow*>(scales + j)), eight);
      *reinterpret_cast<narrow*>(values + j) = __builtin_convertvector((total - 8388608.0 * sum) * (by * step), narrow);
    }
  }

private:
  // In each half, the lowest bytes of all elements, then the next ones.
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static inline typename by_avx2::chars by_digits(typename by_avx2::integers whole) {
    constexpr typename by_avx2::chars order{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
                                            0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    return __builtin_ia32_pshufb256(reinterpret_cast<typename by_avx2::chars>(whole), order);
  }
  static void write_group(std::byte* to, const std::uint32_t* x) {
    for (unsigned d = 0; d < 3; ++d) {
      const std::uint32_t bytes =
          (x[0] >> 8 * d & 255U) | (x[1] >> 8 * d & 255U) << 8 | (x[2] >> 8 * d & 255U) << 16 | (x[3] >> 8 * d & 255U) << 24;
      std::memcpy(to + 4 * d, &bytes, sizeof bytes);
    }
  }

  template <std::size_t Rows>
  static void of_rows(double* totals, const std::byte* digits, std::size_t row_bytes, const std::int8_t* weight,
                      std::size_t columns, std::size_t groups) {
    if (columns == 48) return tile<Rows, 3>(totals, digits, row_bytes, weight, groups);
    if (columns == 32) return tile<Rows, 2>(totals, digits, row_bytes, weight, groups);
    tile<Rows, 1>(totals, digits, row_bytes, weight, groups);
  }

  // sums(r, d, c) += digit d of row r * the bytes of 16 columns, I counting the sums in that order.
  template <std::size_t Columns, std::size_t... I, std::size_t... J, std::size_t... X>
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static inline void step(vector* sums, const std::byte* digits, std::size_t row_bytes,
                                                                     const std::int8_t* weight, std::index_sequence<I...>,
                                                                     std::index_sequence<J...>, std::index_sequence<X...>) {
    const vector w[Columns] = {in_a_register(*reinterpret_cast<const loose*>(weight + 64 * J))...};
    const vector x[sizeof...(X)] = {(vector{} + *reinterpret_cast<const loose_word*>(digits + X / 3 * row_bytes + X % 3 * 4))...};
    (add_products(sums[I], x[I / Columns], w[I % Columns]), ...);
  }
  template <std::size_t... I>
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static inline void clear(vector* sums, std::index_sequence<I...>) {
    ((sums[I] = vector{}), ...);
  }
  // Compilers would rather load a vector three times than keep it.
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static inline vector in_a_register(vector x) {
    __asm__("" : "+v"(x));
    return x;
  }
  // The instruction is written out, as its built-in function has other types in each compiler.
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static inline void add_products(vector& sum, vector digits, vector weight) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(digits), "v"(weight));
  }
  // R counts the columns of all rows.
  template <std::size_t Columns, std::size_t... R>
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static inline void add_up(double* totals, const vector* sums,
                                                                       std::index_sequence<R...>) {
    (add_column(totals + R / Columns * sliver + 16 * (R % Columns), sums[R / Columns * 3 * Columns + R % Columns],
                sums[(R / Columns * 3 + 1) * Columns + R % Columns], sums[(R / Columns * 3 + 2) * Columns + R % Columns]),
     ...);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static inline void add_column(double* totals, vector low, vector middle,
                                                                           vector high) {
    alignas(64) int parts[3][16];
    *reinterpret_cast<vector*>(parts[0]) = low;
    *reinterpret_cast<vector*>(parts[1]) = middle;
    *reinterpret_cast<vector*>(parts[2]) = high;
    for (std::size_t i = 0; i < 16; i += 8) {
      const auto part = [&](std::size_t d) CAIRN_TARGET_AVX512 {
        return __builtin_convertvector(*reinterpret_cast<const half*>(parts[d] + i), eight);
      };
      *reinterpret_cast<eight*>(totals + i) += part(0) + 256.0 * part(1) + 65536.0 * part(2);
    }
  }

  template <std::size_t Rows, std::size_t Columns>
  CAIRN_TARGET_AVX512 static void tile(double* totals, const std::byte* digits, std::size_t row_bytes, const std::int8_t* weight,
                                       std::size_t groups) {
    constexpr std::make_index_sequence<Rows * 3 * Columns> all{};
    constexpr std::make_index_sequence<Columns> columns{};
    std::fill_n(totals, Rows * sliver, 0.0);
    for (std::size_t g = 0; g < groups;) {
      vector sums[Rows * 3 * Columns];
      clear(sums, all);
      for (const std::size_t end = std::min(groups, g + block); g < end; ++g, digits += digit_bytes, weight += 64 * Columns)
        step<Columns>(sums, digits, row_bytes, weight, all, columns, std::make_index_sequence<Rows * 3>{});
      add_up<Columns>(totals, sums, std::make_index_sequence<Rows * Columns>{});
    }
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

#endif
