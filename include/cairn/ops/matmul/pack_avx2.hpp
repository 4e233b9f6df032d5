// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <algorithm>
#include <cstddef>

#include <immintrin.h>

#include <cairn/ops/matmul/avx2_registers.hpp>

namespace cairn::detail {

// Packing moves every number of b once, so it matters where there are few rows to use it: a product of 32
// rows spends a tenth of its time here. The AVX-512 kernels pack by these functions too: in large products
// the time is that of reading b, in small ones squares of 8 waste less at the ends than squares of 16.

// Turns W rows of W elements, W being the width of a register, from from[j * stride + p] to to[p * width + j].
// Rows from `columns` on and elements from `depth` on are taken as zero if Ragged, else they must be there.
template <bool Ragged>
[[gnu::always_inline]] CAIRN_TARGET_AVX2 inline void turn(float* to, std::size_t width, const float* from,
                                                          std::size_t stride, std::size_t columns,
                                                          std::size_t depth) {
  // Halves of rows j and j + 4 side by side, so that the rest happens within 128-bit lanes, where shuffles
  // are cheap.
  __m256 near[4];
  __m256 far[4];
  if constexpr (Ragged) {
    using registers = avx2_register<float>;
    const __m256i wanted = registers::first(depth);
    const auto row = [&](std::size_t j) CAIRN_TARGET_AVX2 {
      return j < columns ? registers::load(from + j * stride, wanted) : registers::fill(0);
    };
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) {
      const __m256 upper = row(j);
      const __m256 lower = row(j + 4);
      near[j] = _mm256_permute2f128_ps(upper, lower, 0x20);
      far[j] = _mm256_permute2f128_ps(upper, lower, 0x31);
    }
  } else {
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) {
      const float* const upper = from + j * stride;
      const float* const lower = upper + 4 * stride;
      near[j] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(upper)), _mm_loadu_ps(lower), 1);
      far[j] =
          _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(upper + 4)), _mm_loadu_ps(lower + 4), 1);
    }
  }
  const auto lanes = [&](const __m256(&r)[4], float* first, std::size_t count) CAIRN_TARGET_AVX2 {
    const __m256 a = _mm256_unpacklo_ps(r[0], r[1]); // 0 1 of rows 0 and 1 in turn
    const __m256 b = _mm256_unpackhi_ps(r[0], r[1]);
    const __m256 c = _mm256_unpacklo_ps(r[2], r[3]);
    const __m256 d = _mm256_unpackhi_ps(r[2], r[3]);
    if (!Ragged || count > 0) _mm256_storeu_ps(first, _mm256_shuffle_ps(a, c, 0x44));
    if (!Ragged || count > 1) _mm256_storeu_ps(first + width, _mm256_shuffle_ps(a, c, 0xEE));
    if (!Ragged || count > 2) _mm256_storeu_ps(first + 2 * width, _mm256_shuffle_ps(b, d, 0x44));
    if (!Ragged || count > 3) _mm256_storeu_ps(first + 3 * width, _mm256_shuffle_ps(b, d, 0xEE));
  };
  lanes(near, to, depth);
  if (!Ragged || depth > 4) lanes(far, to + 4 * width, depth - 4);
}

template <bool Ragged>
[[gnu::always_inline]] CAIRN_TARGET_AVX2 inline void turn(double* to, std::size_t width, const double* from,
                                                          std::size_t stride, std::size_t columns,
                                                          std::size_t depth) {
  using registers = avx2_register<double>;
  __m256d r[4];
  const __m256i wanted = registers::first(Ragged ? depth : 4);
#pragma GCC unroll 4
  for (std::size_t j = 0; j < 4; ++j)
    r[j] = !Ragged       ? registers::load(from + j * stride)
           : j < columns ? registers::load(from + j * stride, wanted)
                         : registers::fill(0);
  const __m256d a = _mm256_unpacklo_pd(r[0], r[1]); // 0 and 2 of rows 0 and 1
  const __m256d b = _mm256_unpackhi_pd(r[0], r[1]);
  const __m256d c = _mm256_unpacklo_pd(r[2], r[3]);
  const __m256d d = _mm256_unpackhi_pd(r[2], r[3]);
  _mm256_storeu_pd(to, _mm256_permute2f128_pd(a, c, 0x20));
  if (!Ragged || depth > 1) _mm256_storeu_pd(to + width, _mm256_permute2f128_pd(b, d, 0x20));
  if (!Ragged || depth > 2) _mm256_storeu_pd(to + 2 * width, _mm256_permute2f128_pd(a, c, 0x31));
  if (!Ragged || depth > 3) _mm256_storeu_pd(to + 3 * width, _mm256_permute2f128_pd(b, d, 0x31));
}

// Packs `columns` rows of a matrix of which the product wants the transpose: to[p * width + j] = from[j *
// stride + p], zero for j in [columns, width). width is a multiple of a register's.
template <class T>
CAIRN_TARGET_AVX2 void pack_transposed_avx2(T* to, std::size_t width, const T* from, std::size_t stride,
                                            std::size_t columns, std::size_t depth) {
  constexpr std::size_t side = avx2_register<T>::width;
  constexpr std::size_t piece = 256 / sizeof(T);
  // A few cache lines of each row at a time: enough for the prefetcher to see a stream, and few enough that
  // the lines written are completed while they are in the first-level cache.
  for (std::size_t begin = 0; begin < depth; begin += piece) {
    const std::size_t end = std::min(depth, begin + piece);
    for (std::size_t j = 0; j < width; j += side) {
      const T* const rows = from + j * stride;
      const std::size_t count = columns > j ? columns - j : 0;
      std::size_t p = begin;
      if (count >= side)
        for (; p + side <= end; p += side)
          turn<false>(to + p * width + j, width, rows + p, stride, side, side);
      for (; p < end; p += side)
        turn<true>(to + p * width + j, width, rows + p, stride, count, std::min(side, end - p));
    }
  }
}

// Packs `columns` columns of a matrix that the product wants as it is: to[p * width + j] = from[p * stride +
// j].
template <class T>
CAIRN_TARGET_AVX2 void pack_avx2(T* to, std::size_t width, const T* from, std::size_t stride,
                                 std::size_t columns, std::size_t depth) {
  using registers = avx2_register<T>;
  for (std::size_t p = 0; p < depth; ++p, to += width, from += stride) {
    std::size_t j = 0;
    for (; j + registers::width <= columns; j += registers::width)
      registers::store(to + j, registers::load(from + j));
    for (; j < width; j += registers::width)
      registers::store(to + j, registers::load(from + j, registers::first(columns > j ? columns - j : 0)));
  }
}

// to[j] = the sum over p of from[p * stride + j], in ascending order of p, for j in [0, columns).
template <class T>
CAIRN_TARGET_AVX2 void sum_columns_avx2(T* to, const T* from, std::size_t stride, std::size_t columns,
                                        std::size_t depth) {
  using registers = avx2_register<T>;
  constexpr std::size_t width = registers::width;
  std::size_t j = 0;
  for (; j + 4 * width <= columns; j += 4 * width) {
    typename registers::vector a = registers::fill(0), b = a, c = a, d = a;
    for (std::size_t p = 0; p < depth; ++p) {
      const T* const row = from + p * stride + j;
      a = registers::add(a, registers::load(row));
      b = registers::add(b, registers::load(row + width));
      c = registers::add(c, registers::load(row + 2 * width));
      d = registers::add(d, registers::load(row + 3 * width));
    }
    registers::store(to + j, a);
    registers::store(to + j + width, b);
    registers::store(to + j + 2 * width, c);
    registers::store(to + j + 3 * width, d);
  }
  for (; j < columns; j += width) {
    const typename registers::mask lanes = registers::first(std::min(width, columns - j));
    typename registers::vector sum = registers::fill(0);
    for (std::size_t p = 0; p < depth; ++p)
      sum = registers::add(sum, registers::load(from + p * stride + j, lanes));
    registers::store(to + j, sum, lanes);
  }
}

} // namespace cairn::detail

#endif
