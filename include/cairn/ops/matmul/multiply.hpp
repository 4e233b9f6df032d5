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
  std::size_t carried = 0; // rows whose sums are carried from block to block before the next
  std::size_t columns = 0; // of b at a time
  bool pack_a = false;
  bool pack = false; // b
  bool carry_in_c = false;
  std::size_t group = 0; // columns of b packed at a time
  std::size_t panel = 0; // elements of a packed panel of 8 rows of a
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
  const bool carries = k > by.block;
  by.carry_in_c = carries && whole.then.addend.data == nullptr;
  by.pack_a = rows >= 64 && columns >= 2 * Kernels::widest && depth >= 64;
  if (by.pack_a) {
    by.pack = true;
    by.panel = 8 * depth + 64 / sizeof(T);
    by.group = std::max<std::size_t>(1, std::min(2 * cached / depth, columns + Kernels::widest - 1) / Kernels::widest) * Kernels::widest;
    const bool apart = carries && !by.carry_in_c;
    const std::size_t left = scratch - by.group * depth;
    const std::size_t fit = std::max<std::size_t>(1, left / (apart ? 2 : 1) / by.panel) * 8;
    const std::size_t chunks = (rows + fit - 1) / fit;
    by.rows = ((rows + chunks - 1) / chunks + 7) / 8 * 8;
    by.carried = by.rows;
    by.columns = apart ? std::max<std::size_t>(1, (left - by.rows / 8 * by.panel) / by.rows / Kernels::widest) * Kernels::widest : columns;
    return by;
  }
  by.rows = std::max<std::size_t>(8, cached / depth / 8 * 8);
  by.carried = std::max<std::size_t>(1, rows);
  by.pack = whole.b_column != 1 || (rows >= 64 && depth * columns >= cached / 8);
  // With one block of rows b is packed sliver by sliver, each used at once while it is in the first-level
  // cache.
  if (carries && !by.carry_in_c) {
    // Three quarters of the scratch for b, one for the sums of the blocks so far.
    by.columns = std::max(scratch * 3 / 4 / depth / Kernels::widest, std::size_t{1}) * Kernels::widest;
    by.carried = std::max<std::size_t>(8, scratch / 4 / by.columns / 8 * 8);
    by.rows = std::min(by.rows, by.carried);
  } else if (!by.pack) by.columns = columns;
  else if (rows <= by.rows) by.columns = Kernels::widest;
  else by.columns = std::max(2 * cached / depth / Kernels::widest, std::size_t{1}) * Kernels::widest;
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

// Names the columns of c from `column` on, over [p, p + depth) of the reduction; false behind the last.
template <class Kernels, class T>
void name_sliver(const product<T>& whole, sliver<T>& s, std::size_t p, std::size_t column, std::size_t end) {
  s.column = column;
  s.columns = Kernels::sliver_columns(end - column);
  s.b = whole.b + p * whole.b_step + column * whole.b_column;
  s.b_step = whole.b_step;
}

template <class Kernels, class T>
void pack_rows(const product<T>& whole, const rectangle& part, std::size_t p, std::size_t depth, T* to, std::size_t panel) {
  const T* const a = whole.a + part.row_begin * whole.a_row + p * whole.a_step;
  const std::size_t rows = part.row_end - part.row_begin;
  constexpr std::size_t piece = 8;
  if (whole.a_row != 1) {
    for (std::size_t i = 0; i < rows; i += 8, to += panel)
      Kernels::pack_transposed(to, 8, a + i * whole.a_row, whole.a_row, std::min<std::size_t>(8, rows - i), depth);
    return;
  }
  for (std::size_t q = 0; q < depth; q += piece)
    for (std::size_t i = 0; i < rows; i += 8)
      Kernels::pack(to + i / 8 * panel + q * 8, 8, a + i + q * whole.a_step, whole.a_step, std::min<std::size_t>(8, rows - i),
                    std::min(piece, depth - q));
}

template <class Kernels, class T>
void pack_columns(const product<T>& whole, std::size_t begin, std::size_t end, std::size_t p, std::size_t depth, T* to) {
  constexpr std::size_t piece = 8;
  const bool turned = whole.b_column != 1;
  for (std::size_t q = 0; q < depth; q += turned ? depth : piece)
    for (std::size_t j = begin, columns = 0; j < end; j += columns) {
      columns = Kernels::sliver_columns(end - j);
      const std::size_t width = Kernels::packed_width(columns);
      T* const at = to + (j - begin) * depth + q * width;
      const T* const from = whole.b + (p + q) * whole.b_step + j * whole.b_column;
      if (turned) Kernels::pack_transposed(at, width, from, whole.b_column, columns, depth);
      else Kernels::pack(at, width, from, whole.b_step, columns, std::min(piece, depth - q));
    }
}

template <class Kernels, class T>
void multiply_packed(const product<T>& whole, const rectangle& part, const blocking& by, std::span<std::byte> scratch) {
  const std::size_t k = whole.size.k;
  const bool carries = k > by.block;
  T* const packed_b = reinterpret_cast<T*>(scratch.data());
  T* const packed_a = packed_b + by.group * by.block;
  T* const carry = packed_a + by.rows / 8 * by.panel;
  alignas(64) T before[tile_bytes / sizeof(T)];
  sliver<T> s;
  s.whole = &whole;
  s.before = before;
  s.a_row = 1;
  s.a_step = 8;
  s.carry_row = by.carry_in_c ? whole.c.stride : by.columns;
  for (std::size_t i0 = part.row_begin; i0 < part.row_end; i0 += by.rows) {
    const std::size_t i1 = std::min(part.row_end, i0 + by.rows);
    for (std::size_t c0 = part.column_begin; c0 < part.column_end; c0 += by.columns) {
      const std::size_t c1 = std::min(part.column_end, c0 + by.columns);
      for (std::size_t p = 0; p < k; p += s.depth) {
        s.depth = std::min(by.block, k - p);
        s.reads_carry = p != 0;
        s.writes_carry = p + s.depth < k;
        pack_rows<Kernels>(whole, {i0, i1, 0, 0}, p, s.depth, packed_a, by.panel);
        for (std::size_t j0 = c0; j0 < c1; j0 += by.group) {
          const std::size_t j1 = std::min(c1, j0 + by.group);
          pack_columns<Kernels>(whole, j0, j1, p, s.depth, packed_b);
          s.ahead_lines = (8 * sizeof(T) * ahead_steps / 64 * Kernels::widest + j1 - j0 - 1) / (j1 - j0);
          for (std::size_t i = i0; i < i1; i += 8) {
            s.row_begin = i;
            s.row_end = std::min(i1, i + 8);
            s.a = packed_a + (i - i0) / 8 * by.panel;
            s.ahead = s.a + (i + 8 < i1 ? by.panel : 0);
            for (std::size_t j = j0; j < j1; j += s.columns) {
              s.column = j;
              s.columns = Kernels::sliver_columns(j1 - j);
              s.b = packed_b + (j - j0) * s.depth;
              s.b_step = Kernels::packed_width(s.columns);
              s.carry = !carries ? nullptr : by.carry_in_c ? &whole.c(i, j) : carry + (i - i0) * s.carry_row + (j - c0);
              Kernels::rows(s);
              s.ahead += s.depth / ahead_steps * s.ahead_lines * (64 / sizeof(T));
            }
          }
        }
      }
    }
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
  if (by.pack_a) multiply_packed<Kernels>(whole, part, by, scratch);
  else {

  alignas(64) T before[tile_bytes / sizeof(T)];
  sliver<T> s;
  s.whole = &whole;
  s.before = before;
  s.a_row = whole.a_row;
  s.a_step = whole.a_step;
  s.carry_row = by.carry_in_c ? whole.c.stride : by.columns;
  for (std::size_t j0 = part.column_begin; j0 < part.column_end; j0 += by.columns) {
    const std::size_t j1 = std::min(part.column_end, j0 + by.columns);
    for (std::size_t first = part.row_begin; first < part.row_end; first += by.carried) {
      const std::size_t last = std::min(part.row_end, first + by.carried);
      std::size_t p = 0;
      do { // at least once: the product over nothing is zero
        s.depth = std::min(by.block, k - p);
        s.reads_carry = p != 0;
        s.writes_carry = p + s.depth < k;
        for (std::size_t i0 = first; i0 < last; i0 += by.rows) {
          s.row_begin = i0;
          s.row_end = std::min(last, i0 + by.rows);
          s.a = whole.a + i0 * whole.a_row + p * whole.a_step;
          const bool fresh = i0 == first && (carries || i0 == part.row_begin); // else b lies packed from the rows before
          for (std::size_t j = j0; j < j1; j += s.columns) {
            name_sliver<Kernels>(whole, s, p, j, j1);
            s.carry = !carries ? nullptr : by.carry_in_c ? &whole.c(i0, j) : carry + (i0 - first) * s.carry_row + (j - j0);
            // One column of b is its own transpose.
            if ((by.pack && s.columns > 1) || Kernels::must_pack(s.columns)) {
              T* const to = packed + (by.pack ? (j - j0) * s.depth : 0);
              const T* const from = s.b;
              s.b_step = Kernels::packed_width(s.columns);
              if (fresh || !by.pack) pack_sliver<Kernels>(whole, s, to, from);
              s.b = to;
            }
            Kernels::rows(s);
          }
        }
        p += s.depth;
      } while (p < k);
    }
  }
  }
  if (whole.then.row_sums != nullptr && part.column_begin == 0) sum_rows<Kernels>(whole, part.row_begin, part.row_end);
}

} // namespace cairn::detail

CAIRN_KERNELS_END
