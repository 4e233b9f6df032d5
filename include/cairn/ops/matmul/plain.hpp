// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/matmul/finish_row.hpp>
#include <cairn/ops/matmul/product.hpp>
#include <cairn/ops/matmul/reduction.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Kernels for any machine: vectors of 16 bytes, which g++ and clang++ offer everywhere; the compiler chooses between a fused
// multiply-add and two operations. Every tile is a full one, since b is padded with zeros at a partial end, so an element's bits
// do not depend on its place.
template <class T>
struct plain_kernels {
  using vector = typename plain_vector<T>::type;
  static constexpr std::size_t width = plain_vector<T>::width;
  static constexpr std::size_t widest = 3 * width;

  // The last sliver may be partial; it is packed with zeros to the full width, and only its own columns are
  // written.
  static constexpr std::size_t sliver_columns(std::size_t left) { return left < widest ? left : widest; }
  static constexpr std::size_t packed_width(std::size_t) { return widest; }
  static constexpr bool must_pack(std::size_t columns) { return columns != widest; }

  static void rows(const sliver<T>& s) {
    std::size_t row = s.row_begin;
    for (; row + 4 <= s.row_end; row += 4) tile<4>(s, row);
    for (; row < s.row_end; ++row) tile<1>(s, row);
  }

  static void pack(T* to, std::size_t to_width, const T* from, std::size_t stride, std::size_t columns, std::size_t depth) {
    for (std::size_t p = 0; p < depth; ++p)
      for (std::size_t j = 0; j < to_width; ++j) to[p * to_width + j] = j < columns ? from[p * stride + j] : T{0};
  }
  static void pack_transposed(T* to, std::size_t to_width, const T* from, std::size_t stride, std::size_t columns,
                              std::size_t depth) {
    for (std::size_t j = 0; j < to_width; ++j)
      for (std::size_t p = 0; p < depth; ++p) to[p * to_width + j] = j < columns ? from[j * stride + p] : T{0};
  }
  static void sum_columns(T* to, const T* from, std::size_t stride, std::size_t columns, std::size_t depth) {
    std::size_t j = 0;
    for (; j + sum_strip <= columns; j += sum_strip) sum_columns_of(to + j, from + j, stride, sum_strip, depth);
    if (j < columns) sum_columns_of(to + j, from + j, stride, columns - j, depth);
  }

  // Adds to 8 doubles the sums of `depth` times 8 numbers, which are one chain.
  static void add_chain(void* totals, const T* panel, std::size_t depth) {
    T chain[8] = {};
    for (std::size_t p = 0; p < depth; ++p)
      for (std::size_t i = 0; i < 8; ++i) chain[i] += panel[8 * p + i];
    double total[8];
    std::memcpy(total, totals, sizeof total);
    for (std::size_t i = 0; i < 8; ++i) total[i] += static_cast<double>(chain[i]);
    std::memcpy(totals, total, sizeof total);
  }

private:
  // The number of columns that are summed at a time; their chains and totals are on the stack.
  static constexpr std::size_t sum_strip = 64;
  static void sum_columns_of(T* to, const T* from, std::size_t stride, std::size_t columns, std::size_t depth) {
    double totals[sum_strip] = {};
    for (std::size_t p = 0; p < depth;) {
      T chains[sum_strip] = {};
      for (const std::size_t end = std::min(depth, p + sum_chain); p < end; ++p) {
        const T* const row = from + p * stride;
        if (columns == sum_strip) // a constant length: g++ -O2 vectorizes no other
          for (std::size_t j = 0; j < sum_strip; ++j) chains[j] += row[j];
        else
          for (std::size_t j = 0; j < columns; ++j) chains[j] += row[j];
      }
      for (std::size_t j = 0; j < sum_strip; ++j) totals[j] += static_cast<double>(chains[j]);
    }
    for (std::size_t j = 0; j < columns; ++j) to[j] = static_cast<T>(totals[j]);
  }

  template <std::size_t... I>
  [[gnu::always_inline]] static inline void reduce(vector* sums, const sliver<T>& s, std::size_t row, std::index_sequence<I...>) {
    const std::size_t a_row = s.a_row;
    const T* a = s.a + (row - s.row_begin) * a_row;
    const T* b = s.b;
    vector before[sizeof...(I)];
    for (std::size_t done = 0;;) {
      const std::size_t end = std::min(s.depth, done + reduction_chain);
      const bool first = done == 0;
      ((sums[I] = vector{}), ...);
      for (; done < end; ++done, a += s.a_step, b += s.b_step) {
        const vector right[3] = {plain_vector<T>::load(b), plain_vector<T>::load(b + width),
                                 plain_vector<T>::load(b + 2 * width)};
        ((sums[I] += a[I / 3 * a_row] * right[I % 3]), ...);
      }
      if (!first) ((sums[I] = before[I] + sums[I]), ...);
      if (done == s.depth) return;
      ((before[I] = sums[I]), ...);
    }
  }

  template <std::size_t Rows>
  static void tile(const sliver<T>& s, std::size_t row) {
    vector sums[Rows * 3];
    reduce(sums, s, row, std::make_index_sequence<Rows * 3>{});
    T values[Rows * widest];
    std::memcpy(values, sums, sizeof values);
    for (std::size_t i = 0; i < Rows; ++i) finish(s, row + i, values + i * widest);
  }

  // One row of a tile: carried on, or finished.
  static void finish(const sliver<T>& s, std::size_t row, T* values) {
    if (s.carry != nullptr) {
      T* const carry = s.carry + (row - s.row_begin) * s.carry_row;
      if (s.reads_carry)
        for (std::size_t j = 0; j < s.columns; ++j) values[j] = carry[j] + values[j];
      if (s.writes_carry) return static_cast<void>(std::copy_n(values, s.columns, carry));
    }
    finish_row(*s.whole, row, s.column, s.columns, values);
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
