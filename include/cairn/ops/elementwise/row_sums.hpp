// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// f(sums[j]..., arrays(row, j)...) for every row in ascending order, and every column j. The sums are doubles, which f takes by
// reference and adds to. An array with a stride of 0 is the same row every time. The sums are kept in memory and not in
// registers, so that rows are read in order; a strip of them stays in the innermost cache.
//
// As for elementwise(), f has no branch and is [[gnu::always_inline]]. The columns after the last full block are computed one at
// a time, so the last bits of a column may depend on whether it is among them, but on nothing else.
template <std::size_t Sums, std::size_t Operands, class F, class T, std::size_t... S, std::size_t... I>
[[gnu::always_inline]] inline void add_rows_of(const F& f, const std::array<double*, Sums>& sums,
                                               const std::array<matrix<const T>, Operands>& arrays, std::index_sequence<S...>,
                                               std::index_sequence<I...>) {
  const F element = f;
  const std::size_t columns = arrays[0].columns, rows = arrays[0].rows;
  const T* const first[Operands] = {arrays[I].data...};
  const std::size_t stride[Operands] = {arrays[I].stride...};
  double* const to[Sums] = {sums[S]...};
  for (std::size_t row = 0; row < rows; ++row) {
    const T* const from[Operands] = {first[I] + row * stride[I]...};
    std::size_t j = 0;
    for (; j + element_block <= columns; j += element_block) {
      double s[Sums][element_block];
      T v[Operands][element_block];
      for (std::size_t k = 0; k < Sums; ++k)
        for (std::size_t i = 0; i < element_block; ++i) s[k][i] = to[k][j + i];
      for (std::size_t k = 0; k < Operands; ++k)
        for (std::size_t i = 0; i < element_block; ++i) v[k][i] = from[k][j + i];
      for (std::size_t i = 0; i < element_block; ++i) element(s[S][i]..., v[I][i]...);
      for (std::size_t k = 0; k < Sums; ++k)
        for (std::size_t i = 0; i < element_block; ++i) to[k][j + i] = s[k][i];
    }
    for (; j < columns; ++j) element(to[S][j]..., from[I][j]...);
  }
}

// The same, compiled for each instruction set.
template <std::size_t Sums, std::size_t Operands, class F, class T>
[[gnu::noinline]] void add_rows_plain(const F& f, const std::array<double*, Sums>& sums,
                                      const std::array<matrix<const T>, Operands>& arrays) {
  add_rows_of(f, sums, arrays, std::make_index_sequence<Sums>(), std::make_index_sequence<Operands>());
}
template <std::size_t Sums, std::size_t Operands, class F, class T>
[[gnu::noinline]] CAIRN_TARGET_AVX2 void add_rows_avx2(const F& f, const std::array<double*, Sums>& sums,
                                                       const std::array<matrix<const T>, Operands>& arrays) {
  add_rows_of(f, sums, arrays, std::make_index_sequence<Sums>(), std::make_index_sequence<Operands>());
}
template <std::size_t Sums, std::size_t Operands, class F, class T>
[[gnu::noinline]] CAIRN_TARGET_AVX512 void add_rows_avx512(const F& f, const std::array<double*, Sums>& sums,
                                                           const std::array<matrix<const T>, Operands>& arrays) {
  add_rows_of(f, sums, arrays, std::make_index_sequence<Sums>(), std::make_index_sequence<Operands>());
}

template <std::size_t Sums, std::size_t Operands, class F, class T>
void add_rows(instruction_set set, const F& f, const std::array<double*, Sums>& sums,
              const std::array<matrix<const T>, Operands>& arrays) {
  if (set == instruction_set::avx512) add_rows_avx512(f, sums, arrays);
  else if (set == instruction_set::avx2) add_rows_avx2(f, sums, arrays);
  else add_rows_plain(f, sums, arrays);
}

// Sums over rows in chains, for a strip of columns (see sums.hpp). Rows are added to `chain`, which is full after sum_chain of
// them and is then added to the totals.
template <class T>
struct alignas(64) chained_sums {
  T chain[strip];
  double total[strip];
};

struct add_to_total {
  template <class T>
  [[gnu::always_inline]] inline void operator()(double& total, T chain) const {
    total += static_cast<double>(chain);
  }
};

// to += row. The trip count of the inner loop is a constant because g++ -O2 vectorizes no other loops. Vectors of 16 bytes keep
// up with the memory that rows come from.
template <class T>
void add_row(T* __restrict to, const T* __restrict row, std::size_t columns) {
  std::size_t j = 0;
  for (; j + element_block <= columns; j += element_block)
    for (std::size_t i = 0; i < element_block; ++i) to[j + i] += row[j + i];
  for (; j < columns; ++j) to[j] += row[j];
}

template <class T>
void start_chain(chained_sums<T>& sums, std::size_t columns) {
  std::fill_n(sums.chain, columns, T{0});
}
template <class T>
void start_sums(chained_sums<T>& sums, std::size_t columns) {
  std::fill_n(sums.total, columns, 0.0);
}
template <class T>
void end_chain(instruction_set set, chained_sums<T>& sums, std::size_t columns) {
  add_rows(set, add_to_total{}, std::array<double*, 1>{sums.total}, std::array{matrix<const T>{sums.chain, 1, columns, columns}});
}

} // namespace cairn::detail

CAIRN_KERNELS_END
