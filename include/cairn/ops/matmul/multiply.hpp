// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/matmul/product.hpp>
#include <cairn/ops/matmul/reduction.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// A rectangle of c: what one thread makes.
struct rectangle {
  std::size_t row_begin = 0, row_end = 0;
  std::size_t column_begin = 0, column_end = 0;
};

// How a rectangle is walked.
//
// A sliver of b, as wide as one set of registers, meets all rows of a that fit into the second-level cache
// before the next sliver comes. a is never packed: its elements are filled into registers one at a time, which
// works for rows and columns alike, and a tile of 8 rows reads 8 streams, no more than a first-level cache
// has ways. b is packed
//   - if it is to be transposed: a register wants neighbours in a row of op(b);
//   - if it is large and there are enough rows to pay for it: a stride of a page costs an address translation
//     a step.
// Small products therefore run on the operands where they lie. Keeping the weights packed for a whole step
// was rejected: it would need memory that the plan does not know of.
//
// Nothing here changes a bit of the result: that only the reduction block does.
struct blocking {
  std::size_t block = 0;   // of the reduction
  std::size_t rows = 0;    // of a at a time: they stay in the second-level cache while the slivers pass
  std::size_t columns = 0; // of b packed at a time
  bool pack = false;
};

// `scratch` is in elements. A packed piece and the rows of a together take less than a second-level cache;
// the limits are not tight, for a tile needs 8 bytes of b a cycle and that cache gives 32.
template <class Kernels, class T>
blocking choose_blocking(const product<T>& whole, const rectangle& part, std::size_t scratch) {
  constexpr std::size_t cached = 256 * 1024 / sizeof(T); // a quarter of a usual second-level cache
  const std::size_t rows = part.row_end - part.row_begin;
  const std::size_t columns = part.column_end - part.column_begin;
  const std::size_t k = whole.size.k;
  blocking by;
  by.block = reduction_block(k);
  const std::size_t depth = std::max<std::size_t>(by.block, 1);
  by.rows = std::max<std::size_t>(8, cached / depth / 8 * 8);
  by.pack = whole.b_column != 1 || (rows >= 64 && depth * columns >= cached / 8);
  if (k > by.block) {
    // Three quarters of the scratch for b, one for the sums of the blocks so far.
    by.columns = std::max(scratch * 3 / 4 / depth / Kernels::widest, std::size_t{1}) * Kernels::widest;
    by.rows = std::max<std::size_t>(8, scratch / 4 / by.columns / 8 * 8);
  } else {
    // With one block of rows b is packed sliver by sliver, each used at once while it is in the first-level
    // cache.
    if (!by.pack) by.columns = columns;
    else if (rows <= by.rows) by.columns = Kernels::widest;
    else by.columns = std::max(2 * cached / depth / Kernels::widest, std::size_t{1}) * Kernels::widest;
  }
  return by;
}

// Packs the columns of b that `s` names, over its block.
template <class Kernels, class T>
void pack_sliver(const product<T>& whole, const sliver<T>& s, T* to, const T* from) {
  if (whole.b_column == 1) Kernels::pack(to, s.b_step, from, whole.b_step, s.columns, s.depth);
  else Kernels::pack_transposed(to, s.b_step, from, whole.b_column, s.columns, s.depth);
}

// The sums of rows of op(a), in chains: see sums.hpp.
template <class Kernels, class T>
void sum_rows(const product<T>& whole, std::size_t row_begin, std::size_t row_end) {
  T* const sums = whole.then.row_sums;
  if (whole.a_row == 1) { // neighbouring rows are neighbours in memory
    Kernels::sum_columns(sums + row_begin, whole.a + row_begin, whole.a_step, row_end - row_begin, whole.size.k);
    return;
  }
  for (std::size_t i = row_begin; i < row_end; ++i) {
    const T* const row = whole.a + i * whole.a_row;
    double sum = 0;
    for (std::size_t p = 0; p < whole.size.k;) {
      T chain = 0;
      for (const std::size_t end = std::min(whole.size.k, p + sum_chain); p < end; ++p) chain += row[p * whole.a_step];
      sum += static_cast<double>(chain);
    }
    sums[i] = static_cast<T>(sum);
  }
}

// Computes one rectangle of c.
//
// The loops from outside in: columns of b that fit packed, rows of a that fit the cache, blocks of the
// reduction in ascending order, slivers. With several blocks the sums so far wait in the last quarter of the
// scratch.
template <class Kernels, class T>
void multiply(const product<T>& whole, const rectangle& part, std::span<std::byte> scratch) {
  const std::size_t k = whole.size.k;
  const std::size_t room = scratch.size() / sizeof(T);
  const blocking by = choose_blocking<Kernels>(whole, part, room);
  const bool carries = k > by.block;
  T* const packed = reinterpret_cast<T*>(scratch.data());
  T* const carry = packed + room / 4 * 3;

  alignas(64) T before[tile_bytes / sizeof(T)];
  sliver<T> s;
  s.whole = &whole;
  s.before = before;
  s.carry_row = by.columns;
  for (std::size_t j0 = part.column_begin; j0 < part.column_end; j0 += by.columns) {
    const std::size_t j1 = std::min(part.column_end, j0 + by.columns);
    for (std::size_t i0 = part.row_begin; i0 < part.row_end; i0 += by.rows) {
      s.row_begin = i0;
      s.row_end = std::min(part.row_end, i0 + by.rows);
      const bool fresh = i0 == part.row_begin || carries; // else b lies packed from the rows before
      std::size_t p = 0;
      do { // at least once: the product over nothing is zero
        s.depth = std::min(by.block, k - p);
        s.a = whole.a + p * whole.a_step;
        s.reads_carry = p != 0;
        s.writes_carry = p + s.depth < k;
        for (std::size_t j = j0; j < j1; j += s.columns) {
          s.column = j;
          s.columns = Kernels::sliver_columns(j1 - j);
          s.carry = carries ? carry + (j - j0) : nullptr;
          s.b = whole.b + p * whole.b_step + j * whole.b_column;
          s.b_step = whole.b_step;
          // One column of b is its own transpose.
          if ((by.pack && s.columns > 1) || Kernels::must_pack(s.columns)) {
            T* const to = packed + (by.pack ? (j - j0) * s.depth : 0);
            s.b_step = Kernels::packed_width(s.columns);
            if (fresh || !by.pack) pack_sliver<Kernels>(whole, s, to, s.b);
            s.b = to;
          }
          Kernels::rows(s);
        }
        p += s.depth;
      } while (p < k);
    }
  }
  if (whole.then.row_sums != nullptr && part.column_begin == 0) sum_rows<Kernels>(whole, part.row_begin, part.row_end);
}

} // namespace cairn::detail

CAIRN_KERNELS_END
