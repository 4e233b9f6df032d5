// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <algorithm>
#include <cstddef>

#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/matmul/avx2_registers.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Packing moves every element of b once, so it matters where few rows use it: a product of 32 rows spends a tenth of its time
// here. The AVX-512 kernels use these functions too: in large products reading b takes the time, and in small ones squares of 8
// waste less at the ends than squares of 16.

// Selects the elements of a and b with these indices; b's are counted after a's. g++ 11 has this under another name and for
// vectors of one length only, so joining two halves is a function of its own. The indices are no parameter pack, as nvcc does not
// pass it on.
template <int A, int B, int C, int D>
[[gnu::always_inline]] CAIRN_TARGET_AVX2 inline auto shuffled(simd<double, 32>::vector a, simd<double, 32>::vector b) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, A, B, C, D);
#else
  return __builtin_shuffle(a, b, simd<double, 32>::integers{A, B, C, D});
#endif
}
template <int A, int B, int C, int D, int E, int F, int G, int H>
[[gnu::always_inline]] CAIRN_TARGET_AVX2 inline auto shuffled(simd<float, 32>::vector a, simd<float, 32>::vector b) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, A, B, C, D, E, F, G, H);
#else
  return __builtin_shuffle(a, b, simd<float, 32>::integers{A, B, C, D, E, F, G, H});
#endif
}
[[gnu::always_inline]] CAIRN_TARGET_AVX2 inline simd<float, 32>::vector side_by_side(simd<float, 16>::vector a,
                                                                                     simd<float, 16>::vector b) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
#else
  return __builtin_ia32_vinsertf128_ps256(__builtin_ia32_ps256_ps(a), b, 1);
#endif
}

// Transposes W rows of W elements, W being the width of a register, from from[j * stride + p] to to[p * width + j]. If Ragged,
// rows from `columns` on and elements from `depth` on are taken as zero, else they must exist. `Source` is a smaller type, of
// which an element is several in memory, and in which the stride is given. (No lambdas: nvcc drops their attribute.)
template <class T, bool Ragged, class Source = T>
struct turn {
  using registers = avx2_register<T>;
  using vector = typename registers::vector;

  T* to;
  std::size_t width;
  const Source* from;
  std::size_t stride;
  std::size_t columns;
  std::size_t depth;

  [[gnu::always_inline]] CAIRN_TARGET_AVX2 void run() const {
    if constexpr (sizeof(T) == 4) run_of_8();
    else run_of_4();
  }

private:
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 vector row(std::size_t j) const {
    if constexpr (!Ragged) return registers::load(reinterpret_cast<const T*>(from + j * stride));
    else if (j >= columns) return registers::fill(0);
    else return registers::load(reinterpret_cast<const T*>(from + j * stride), registers::first(depth));
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 void store(std::size_t p, vector x) const {
    if (!Ragged || depth > p) registers::store(to + p * width, x);
  }

  // Halves of rows j and j + 4 side by side, so that the rest happens within 128-bit lanes, where shuffles
  // are cheap.
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 void run_of_8() const {
    vector near[4];
    vector far[4];
    CAIRN_UNROLL_4
    for (std::size_t j = 0; j < 4; ++j) {
      if constexpr (Ragged) {
        const vector upper = row(j);
        const vector lower = row(j + 4);
        near[j] = shuffled<0, 1, 2, 3, 8, 9, 10, 11>(upper, lower);
        far[j] = shuffled<4, 5, 6, 7, 12, 13, 14, 15>(upper, lower);
      } else {
        using half = typename simd<float, 16>::loose;
        const auto* const upper = reinterpret_cast<const half*>(from + j * stride);
        const auto* const lower = reinterpret_cast<const half*>(from + (j + 4) * stride);
        near[j] = side_by_side(upper[0], lower[0]);
        far[j] = side_by_side(upper[1], lower[1]);
      }
    }
    store_lanes(near, 0);
    if (!Ragged || depth > 4) store_lanes(far, 4);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 void store_lanes(const vector (&r)[4], std::size_t p) const {
    const vector a = shuffled<0, 8, 1, 9, 4, 12, 5, 13>(r[0], r[1]); // elements 0 and 1 of rows 0 and 1, alternating
    const vector b = shuffled<2, 10, 3, 11, 6, 14, 7, 15>(r[0], r[1]);
    const vector c = shuffled<0, 8, 1, 9, 4, 12, 5, 13>(r[2], r[3]);
    const vector d = shuffled<2, 10, 3, 11, 6, 14, 7, 15>(r[2], r[3]);
    store(p, shuffled<0, 1, 8, 9, 4, 5, 12, 13>(a, c));
    store(p + 1, shuffled<2, 3, 10, 11, 6, 7, 14, 15>(a, c));
    store(p + 2, shuffled<0, 1, 8, 9, 4, 5, 12, 13>(b, d));
    store(p + 3, shuffled<2, 3, 10, 11, 6, 7, 14, 15>(b, d));
  }

  [[gnu::always_inline]] CAIRN_TARGET_AVX2 void run_of_4() const {
    vector r[4];
    CAIRN_UNROLL_4
    for (std::size_t j = 0; j < 4; ++j) r[j] = row(j);
    const vector a = shuffled<0, 4, 2, 6>(r[0], r[1]); // 0 and 2 of rows 0 and 1
    const vector b = shuffled<1, 5, 3, 7>(r[0], r[1]);
    const vector c = shuffled<0, 4, 2, 6>(r[2], r[3]);
    const vector d = shuffled<1, 5, 3, 7>(r[2], r[3]);
    store(0, shuffled<0, 1, 4, 5>(a, c));
    store(1, shuffled<0, 1, 4, 5>(b, d));
    store(2, shuffled<2, 3, 6, 7>(a, c));
    store(3, shuffled<2, 3, 6, 7>(b, d));
  }
};

// Packs `columns` rows of a matrix whose transpose the product needs: to[p * width + j] = from[j * stride + p], and zero for j in
// [columns, width). width is a multiple of a register's. With a smaller Source the elements are those that lie at from.
template <class T, class Source>
CAIRN_TARGET_AVX2 void pack_transposed_avx2(T* to, std::size_t width, const Source* from, std::size_t stride, std::size_t columns,
                                            std::size_t depth) {
  constexpr std::size_t bytes = sizeof(Source), each = sizeof(T) / bytes;
  constexpr std::size_t side = avx2_register<T>::width;
  constexpr std::size_t piece = 256 / sizeof(T);
  // A few cache lines of each row at a time: enough for the prefetcher to see a stream, and few enough that
  // the lines written are completed while they are in the first-level cache.
  for (std::size_t begin = 0; begin < depth; begin += piece) {
    const std::size_t end = std::min(depth, begin + piece);
    for (std::size_t j = 0; j < width; j += side) {
      const Source* const rows = from + j * stride;
      const std::size_t count = columns > j ? columns - j : 0;
      std::size_t p = begin;
      if (count >= side)
        for (; p + side <= end; p += side)
          turn<T, false, Source>{to + p * width + j, width, rows + p * each, stride, side, side}.run();
      for (; p < end; p += side)
        turn<T, true, Source>{to + p * width + j, width, rows + p * each, stride, count, std::min(side, end - p)}.run();
    }
  }
}

// Packs `columns` columns of a matrix that the product needs as it is: to[p * width + j] = from[p * stride + j].
template <class T>
CAIRN_TARGET_AVX2 void pack_avx2(T* to, std::size_t width, const T* from, std::size_t stride, std::size_t columns,
                                 std::size_t depth) {
  using registers = avx2_register<T>;
  for (std::size_t p = 0; p < depth; ++p, to += width, from += stride) {
    std::size_t j = 0;
    for (; j + registers::width <= columns; j += registers::width) registers::store(to + j, registers::load(from + j));
    for (; j < width; j += registers::width)
      registers::store(to + j, registers::load(from + j, registers::first(columns > j ? columns - j : 0)));
  }
}

// The sums of as many columns as Registers registers hold, in chains: see sums.hpp. The last register is masked if Partial.
template <class T, std::size_t Registers, bool Partial>
struct column_sums {
  using registers = avx2_register<T>;
  static constexpr std::size_t width = registers::width;
  static constexpr std::size_t columns = Registers * width;
  alignas(32) double totals[columns];

  [[gnu::always_inline]] CAIRN_TARGET_AVX2 void run(const T* from, std::size_t stride, std::size_t depth,
                                                    typename registers::mask lanes) {
    using four = typename simd<T, 4 * sizeof(T)>::loose;
    using totals_of_four = typename simd<double, 32>::loose;
    for (double& total : totals) total = 0;
    alignas(32) T chains[columns];
    for (std::size_t p = 0; p < depth;) {
      typename registers::vector chain[Registers];
      CAIRN_UNROLL_4
      for (std::size_t i = 0; i < Registers; ++i) chain[i] = registers::fill(0);
      for (const std::size_t end = depth - p < sum_chain ? depth : p + sum_chain; p < end; ++p) {
        const T* const row = from + p * stride;
        CAIRN_UNROLL_4
        for (std::size_t i = 0; i < Registers; ++i)
          chain[i] = registers::add(chain[i], Partial ? registers::load(row, lanes) : registers::load(row + i * width));
      }
      CAIRN_UNROLL_4
      for (std::size_t i = 0; i < Registers; ++i) registers::store(chains + i * width, chain[i]);
      for (std::size_t j = 0; j < columns; j += 4)
        *reinterpret_cast<totals_of_four*>(totals + j) +=
            __builtin_convertvector(*reinterpret_cast<const four*>(chains + j), typename simd<double, 32>::vector);
    }
  }
};

// Adds to 8 doubles the sums of `depth` times 8 numbers, which are one chain.
template <class T>
CAIRN_TARGET_AVX2 void add_chain_avx2(void* totals, const T* panel, std::size_t depth) {
  using registers = avx2_register<T>;
  using four = typename simd<T, 4 * sizeof(T)>::loose;
  using doubles = typename simd<double, 32>::loose;
  constexpr std::size_t half = 8 / registers::width - 1; // double: the second of two registers
  typename registers::vector low = registers::fill(0), high = low;
  for (std::size_t p = 0; p < depth; ++p, panel += 8) {
    low = registers::add(low, registers::load(panel));
    if constexpr (half == 1) high = registers::add(high, registers::load(panel + registers::width));
  }
  alignas(32) T chain[8];
  registers::store(chain, low);
  if constexpr (half == 1) registers::store(chain + registers::width, high);
  for (std::size_t j = 0; j < 8; j += 4)
    *reinterpret_cast<doubles*>(static_cast<double*>(totals) + j) +=
        __builtin_convertvector(*reinterpret_cast<const four*>(chain + j), typename simd<double, 32>::vector);
}

// to[j] = the sum over p of from[p * stride + j] for j in [0, columns). With depth 0 `from` may point to no memory.
template <class T>
CAIRN_TARGET_AVX2 void sum_columns_avx2(T* to, const T* from, std::size_t stride, std::size_t columns, std::size_t depth) {
  constexpr std::size_t width = avx2_register<T>::width;
  if (depth == 0) {
    std::fill_n(to, columns, T(0));
    return;
  }
  std::size_t j = 0;
  for (; j + 4 * width <= columns; j += 4 * width) {
    column_sums<T, 4, false> sums;
    sums.run(from + j, stride, depth, typename avx2_register<T>::mask{});
    for (std::size_t i = 0; i < sums.columns; ++i) to[j + i] = static_cast<T>(sums.totals[i]);
  }
  for (; j < columns; j += width) {
    const std::size_t count = std::min(width, columns - j);
    column_sums<T, 1, true> sums;
    sums.run(from + j, stride, depth, avx2_register<T>::first(count));
    for (std::size_t i = 0; i < count; ++i) to[j + i] = static_cast<T>(sums.totals[i]);
  }
}

} // namespace cairn::detail

CAIRN_KERNELS_END

#endif
