// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/ops/activation.hpp>
#include <cairn/ops/elementwise/narrow_registers.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/matmul/avx2_registers.hpp>
#include <cairn/ops/matmul/narrow_product.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Columns [begin, end) of a row of c from their sums, each rounded once when it is written. sums[0] belongs to column `from`.
template <class T, class C>
void finish_narrow_plain(const narrow_product<T, C>& whole, std::size_t row, std::size_t from, std::size_t begin, std::size_t end,
                         const accumulated<T>* sums) {
  for (std::size_t j = begin; j < end; ++j) whole.c(row, j) = static_cast<C>(narrow_result(whole, row, j, sums[j - from]));
}

// The sums of rows [begin, end) of op(a), in chains: see sums.hpp.
template <class T, class C>
void sum_narrow_rows_plain(const narrow_product<T, C>& whole, std::size_t begin, std::size_t end) {
  using wide = accumulated<T>;
  for (std::size_t i = begin; i < end; ++i) {
    double sum = 0;
    for (std::size_t p = 0; p < whole.size.k;) {
      wide chain = 0;
      for (const std::size_t last = std::min(whole.size.k, p + sum_chain); p < last; ++p)
        chain += static_cast<wide>(whole.a[i * whole.a_row + p * whole.a_step]);
      sum += static_cast<double>(chain);
    }
    whole.then.row_sums[i] = static_cast<wide>(sum);
  }
}

#if CAIRN_X86

template <class T, class C>
CAIRN_TARGET_AVX2 void finish_narrow_avx2(const narrow_product<T, C>& whole, std::size_t row, std::size_t begin, std::size_t end,
                                          const float* sums) {
  using eight = eight_of<T>;
  using registers = avx2_register<float>;
  const epilogue<T>& then = whole.then;
  C* const c = &whole.c(row, 0);
  const T* const addend = then.addend.data == nullptr ? nullptr : &then.addend(row, 0);
  const T* const mask = then.mask.data == nullptr ? nullptr : &then.mask(row, 0);
  std::size_t j = begin;
  for (; j + 8 <= end; j += 8) {
    typename registers::vector v = registers::load(sums + (j - begin));
    if (then.bias != nullptr) v += eight::read(then.bias + j);
    if (then.then == activation::relu) v = registers::max(registers::fill(0), v); // NaN stays
    if (addend != nullptr) v += eight::read(addend + j);
    if (mask != nullptr) v = registers::masked(eight::read(mask + j), v);
    if constexpr (std::is_same_v<C, T>) {
      if (then.adds) v = eight::read(c + j) + v;
      eight::write(c + j, v);
    } else {
      if (then.adds) v = registers::load(c + j) + v;
      registers::store(c + j, v);
    }
  }
  finish_narrow_plain(whole, row, begin, j, end, sums);
}

// Rows of op(a) that are neighbours in memory, 32 at a time.
template <class T, class C>
CAIRN_TARGET_AVX2 void sum_narrow_rows_avx2(const narrow_product<T, C>& whole, std::size_t begin, std::size_t end) {
  using eight = eight_of<T>;
  using registers = avx2_register<float>;
  constexpr std::size_t together = 32;
  std::size_t i = begin;
  if (whole.a_row == 1)
    for (; i + together <= end; i += together) {
      double totals[together] = {};
      alignas(32) float chains[together];
      for (std::size_t p = 0; p < whole.size.k;) {
        typename registers::vector chain[4];
        CAIRN_UNROLL_4
        for (std::size_t r = 0; r < 4; ++r) chain[r] = registers::fill(0);
        for (const std::size_t last = whole.size.k - p < sum_chain ? whole.size.k : p + sum_chain; p < last; ++p) {
          const T* const row = whole.a + i + p * whole.a_step;
          CAIRN_UNROLL_4
          for (std::size_t r = 0; r < 4; ++r) chain[r] = chain[r] + eight::read(row + 8 * r);
        }
        CAIRN_UNROLL_4
        for (std::size_t r = 0; r < 4; ++r) registers::store(chains + 8 * r, chain[r]);
        for (std::size_t r = 0; r < together; ++r) totals[r] += static_cast<double>(chains[r]);
      }
      for (std::size_t r = 0; r < together; ++r) whole.then.row_sums[i + r] = static_cast<float>(totals[r]);
    }
  sum_narrow_rows_plain(whole, i, end);
}

#endif

} // namespace cairn::detail

CAIRN_KERNELS_END
