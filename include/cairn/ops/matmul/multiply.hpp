// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/matmul/product.hpp>
#include <cairn/ops/matmul/reduction.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// A rectangle of c, computed by one thread.
struct rectangle {
  std::size_t row_begin = 0, row_end = 0;
  std::size_t column_begin = 0, column_end = 0;
};

// How a rectangle is computed. There are two ways.
//
// In place: a sliver of b, as wide as one set of registers, is multiplied with all rows of a that fit into the second-level cache
// before the next sliver comes. a is read where it is: its elements are filled into registers one at a time, which works for rows
// and columns alike. b is packed
//   - if it is transposed: a register needs neighbours in a row of op(b);
//   - if it is large and there are enough rows to pay for it: with a stride of a page, each step costs an address translation.
// Small products therefore run on the operands where they are. Rejected: keeping the weights packed for a whole step. It would
// need memory that the plan does not know of.
//
// Packed: first all rows of a that fit into the scratch are packed, in panels of 8. Then b is packed, as many columns at a time
// as stay in the second-level cache; every panel is multiplied with all of them and comes from the third-level cache in one
// stream. So each element is copied once or a few times. Columns of a, which are pages apart and share the sets of a cache if
// their distance is a power of two, are read in whole cache lines. This way is for a transposed first operand, which takes up to
// three times as long in place, and for several reduction blocks.
//
// Rejected after measurements on a Xeon with a slow third-level cache:
//   - packing one sliver of b at a time beside panels that stay in the second-level cache, copied row by row between tiles and
//     prefetched (0.81 to 0.96 of the speed: 192 bytes a page);
//   - tiles of one chain, so that b stays in the first-level cache (0.95).
//
// None of these choices changes a bit of the result, except the reduction block.
struct blocking {
  std::size_t block = 0;   // of the reduction
  std::size_t rows = 0;    // of a at a time: packed, or in the second-level cache for all slivers
  std::size_t columns = 0; // of c at a time; in place: of b packed at a time
  bool pack = false;       // whether b is packed
  bool pack_rows = false;  // whether a is packed too: the second way
  std::size_t group = 0;   // the second way: columns of b packed at a time
  std::size_t panel = 0;   // the second way: elements from one packed panel to the next: its size and a line for sums
  // With several blocks, the sums of the earlier ones are kept in c itself. With an addend, which may be c, they are kept in the
  // scratch, for the rows [first, first + carried) and `columns` columns at a time.
  bool carry_in_c = false;
  std::size_t carried = 0;
};

inline constexpr std::size_t panel_rows = 8;

// `scratch` is in elements. The packed part of b and the rows of a that are used with it together take less than a second-level
// cache. The limits are not tight: a tile needs 16 bytes of b a cycle, and that cache gives 32 or more.
template <class Kernels, class T>
blocking choose_blocking(const product<T>& whole, const rectangle& part, std::size_t scratch) {
  constexpr std::size_t cached = 256 * 1024 / sizeof(T); // an eighth to a quarter of a usual second-level cache
  constexpr std::size_t widest = Kernels::widest;
  const std::size_t rows = part.row_end - part.row_begin;
  const std::size_t columns = part.column_end - part.column_begin;
  const std::size_t k = whole.size.k;
  const auto slivers = [](std::size_t of) { return std::max<std::size_t>(1, of / widest) * widest; };
  blocking by;
  by.block = reduction_block(k);
  const std::size_t depth = std::max<std::size_t>(by.block, 1);
  const bool carries = k > by.block;
  by.carry_in_c = carries && whole.then.addend.data == nullptr;
  const bool apart = carries && !by.carry_in_c;
  // Packing columns of a (a transposed a) pays if they are far apart and are multiplied with many columns of b; packing rows of a
  // pays only if there are many and the reduction has several blocks.
  by.pack_rows =
      columns >= 2 * widest &&
      (whole.a_row == 1 ? rows >= 64 && depth * whole.a_step >= (std::size_t{1} << 25) / columns : rows >= 128 && carries);
  if (by.pack_rows) {
    by.pack = true;
    by.panel = panel_rows * depth + 64 / sizeof(T);
    // 768 bytes of a row at least: fewer would not be worth the address translation.
    by.group = std::min(slivers(std::max(2 * cached / depth, 768 / sizeof(T))), slivers(columns + widest - 1));
    const std::size_t left = scratch - by.group * depth;
    const std::size_t fit = std::max<std::size_t>(1, left / (apart ? 2 : 1) / by.panel) * panel_rows;
    const std::size_t chunks = (rows + fit - 1) / fit;
    by.rows = ((rows + chunks - 1) / chunks + panel_rows - 1) / panel_rows * panel_rows;
    by.columns = apart ? slivers((left - by.rows / panel_rows * by.panel) / by.rows) : columns;
    return by;
  }
  by.rows = std::max<std::size_t>(8, cached / depth / 8 * 8);
  by.carried = std::max<std::size_t>(1, rows);
  by.pack =
      whole.b_column != 1 || (rows >= 64 && depth * columns >= cached / 8 && (rows > 128 || depth * whole.b_step > 4 * cached));
  if (apart) {
    // Three quarters of a MiB for b, one quarter for the sums of the blocks so far.
    by.columns = slivers(3 * cached / depth);
    by.carried = std::max<std::size_t>(8, cached / by.columns / 8 * 8);
    by.rows = std::min(by.rows, by.carried);
  } else if (!by.pack) by.columns = columns;
  // With one block of rows b is packed sliver by sliver, each used at once while it is in the first-level cache.
  else if (rows <= by.rows) by.columns = widest;
  else by.columns = slivers(2 * cached / depth);
  return by;
}

// Packs columns [begin, end) of op(b), over [p, p + depth) of the reduction, one sliver after another.
template <class Kernels, class T>
void pack_columns(const product<T>& whole, std::size_t begin, std::size_t end, std::size_t p, std::size_t depth, T* to) {
  const bool turned = whole.b_column != 1;
  const std::size_t piece = turned ? depth : 8; // rows at a time, so that a page is left only when its part is done
  for (std::size_t q = 0; q < depth; q += piece)
    for (std::size_t j = begin, columns = 0; j < end; j += columns) {
      columns = Kernels::sliver_columns(end - j);
      const std::size_t width = Kernels::packed_width(columns);
      T* const at = to + (j - begin) * depth + q * width;
      const T* const from = whole.b + (p + q) * whole.b_step + j * whole.b_column;
      if (turned) Kernels::pack_transposed(at, width, from, whole.b_column, columns, depth);
      else Kernels::pack(at, width, from, whole.b_step, columns, std::min(piece, depth - q));
    }
}

// The sums of a panel's rows so far, in the cache line after its elements.
template <class T>
void* sums_of_panel(T* panel, std::size_t length) {
  static_assert(panel_rows * sizeof(double) == 64);
  return panel + (length - 64 / sizeof(T));
}

// Packs rows [begin, end) of op(a) in panels: element (i, q) of a panel is at [q * panel_rows + i]. With `sums`, for neighbouring
// rows only, elements are added to their row's sum while they are in the first-level cache: a chain at a time, see sums.hpp.
template <class Kernels, class T>
void pack_panels(const product<T>& whole, std::size_t begin, std::size_t end, std::size_t p, std::size_t depth, T* to,
                 std::size_t panel, bool sums) {
  const bool turned = whole.a_row != 1;
  const std::size_t piece = turned ? depth : sums ? sum_chain : 8;
  if (sums && p == 0)
    for (std::size_t i = begin; i < end; i += panel_rows)
      std::memset(sums_of_panel(to + (i - begin) / panel_rows * panel, panel), 0, 64);
  for (std::size_t q = 0; q < depth; q += piece)
    for (std::size_t i = begin; i < end; i += panel_rows) {
      T* const at = to + (i - begin) / panel_rows * panel + q * panel_rows;
      const T* const from = whole.a + i * whole.a_row + (p + q) * whole.a_step;
      const std::size_t rows = std::min(panel_rows, end - i);
      if (turned) Kernels::pack_transposed(at, panel_rows, from, whole.a_row, rows, depth);
      else Kernels::pack(at, panel_rows, from, whole.a_step, rows, std::min(piece, depth - q));
      if (sums) Kernels::add_chain(sums_of_panel(at - q * panel_rows, panel), at, std::min(piece, depth - q));
    }
}
template <class T>
void write_sums_of_panels(T* sums, std::size_t rows, T* panels, std::size_t panel) {
  for (std::size_t i = 0; i < rows; i += panel_rows) {
    double totals[panel_rows];
    std::memcpy(totals, sums_of_panel(panels + i / panel_rows * panel, panel), sizeof totals);
    for (std::size_t k = 0; k < std::min(panel_rows, rows - i); ++k) sums[i + k] = static_cast<T>(totals[k]);
  }
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

// Whether rows of a are added up while they are packed.
template <class T>
bool sums_while_packed(const product<T>& whole, const blocking& by) {
  return whole.then.row_sums != nullptr && by.pack_rows && whole.a_row == 1;
}

// Computes one rectangle of c from packed operands.
//
// The loops from outside in: rows of a that fit packed, columns of c (all, unless sums of blocks are kept in the scratch), blocks
// of the reduction in ascending order, columns of b that fit packed, panels, slivers.
template <class Kernels, class T>
void multiply_packed(const product<T>& whole, const rectangle& part, const blocking& by, T* scratch) {
  const std::size_t k = whole.size.k;
  T* const packed_b = scratch;
  T* const packed_a = packed_b + by.group * by.block;
  T* const carry = packed_a + by.rows / panel_rows * by.panel;

  alignas(64) T before[tile_bytes / sizeof(T)];
  sliver<T> s;
  s.whole = &whole;
  s.before = before;
  s.a_row = 1;
  s.a_step = panel_rows;
  s.carry_row = by.carry_in_c ? whole.c.stride : by.columns;
  const bool sums = sums_while_packed(whole, by);
  for (std::size_t i0 = part.row_begin; i0 < part.row_end; i0 += by.rows) {
    const std::size_t i1 = std::min(part.row_end, i0 + by.rows);
    for (std::size_t c0 = part.column_begin; c0 < part.column_end; c0 += by.columns) {
      const std::size_t c1 = std::min(part.column_end, c0 + by.columns);
      for (std::size_t p = 0; p < k; p += s.depth) {
        s.depth = std::min(by.block, k - p);
        s.reads_carry = p != 0;
        s.writes_carry = p + s.depth < k;
        pack_panels<Kernels>(whole, i0, i1, p, s.depth, packed_a, by.panel, sums && c0 == 0);
        for (std::size_t j0 = c0; j0 < c1; j0 += by.group) {
          const std::size_t j1 = std::min(c1, j0 + by.group);
          pack_columns<Kernels>(whole, j0, j1, p, s.depth, packed_b);
          // The slivers together prefetch the next panel.
          s.ahead_lines = (panel_rows * sizeof(T) * ahead_steps / 64 * Kernels::widest + j1 - j0 - 1) / (j1 - j0);
          const std::size_t asked = s.depth / ahead_steps * s.ahead_lines * (64 / sizeof(T));
          for (s.row_begin = i0; s.row_begin < i1; s.row_begin = s.row_end) {
            s.row_end = std::min(i1, s.row_begin + panel_rows);
            s.a = packed_a + (s.row_begin - i0) / panel_rows * by.panel;
            const T* const next = s.row_end < i1 ? s.a + by.panel : s.a;
            for (std::size_t j = j0; j < j1; j += s.columns) {
              s.column = j;
              s.columns = Kernels::sliver_columns(j1 - j);
              s.b = packed_b + (j - j0) * s.depth;
              s.b_step = Kernels::packed_width(s.columns);
              s.ahead = next + std::min((j - j0) / Kernels::widest * asked, by.panel);
              if (by.carry_in_c) s.carry = &whole.c(s.row_begin, j);
              else if (k > by.block) s.carry = carry + (s.row_begin - i0) * s.carry_row + (j - c0);
              Kernels::rows(s);
            }
          }
        }
      }
    }
    if (sums && part.column_begin == 0) write_sums_of_panels(whole.then.row_sums + i0, i1 - i0, packed_a, by.panel);
  }
}

// Computes one rectangle of c from operands where they are, or from packed columns of b.
//
// The loops from outside in: columns of b that fit packed, rows whose sums are carried (all, unless these are kept in the
// scratch), blocks of the reduction in ascending order, rows of a that fit the cache, slivers.
template <class Kernels, class T>
void multiply_in_place(const product<T>& whole, const rectangle& part, const blocking& by, T* scratch) {
  const std::size_t k = whole.size.k;
  T* const packed = scratch;
  T* const carry = packed + by.columns * by.block;

  alignas(64) T before[tile_bytes / sizeof(T)];
  sliver<T> s;
  s.whole = &whole;
  s.before = before;
  s.a_row = whole.a_row;
  s.a_step = whole.a_step;
  s.carry_row = by.carry_in_c ? whole.c.stride : by.columns;
  // Rows without a gap: the first sliver prefetches those of the next tile, which may have to come from memory.
  const bool dense = whole.a_step == 1 && whole.a_row == k && k <= by.block;
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
          const bool fresh = i0 == first; // else b is still packed from the rows before
          if (fresh && by.pack && whole.b_column == 1) pack_columns<Kernels>(whole, j0, j1, p, s.depth, packed);
          for (std::size_t j = j0; j < j1; j += s.columns) {
            s.column = j;
            s.columns = Kernels::sliver_columns(j1 - j);
            s.b = whole.b + p * whole.b_step + j * whole.b_column;
            s.b_step = whole.b_step;
            // One column of b is its own transpose.
            if ((by.pack && (s.columns > 1 || whole.b_column == 1)) || Kernels::must_pack(s.columns)) {
              T* const to = packed + (by.pack ? (j - j0) * s.depth : 0);
              if (!by.pack || (fresh && whole.b_column != 1)) pack_columns<Kernels>(whole, j, j + s.columns, p, s.depth, to);
              s.b_step = Kernels::packed_width(s.columns);
              s.b = to;
            }
            if (by.carry_in_c) s.carry = &whole.c(i0, j);
            else if (k > by.block) s.carry = carry + (i0 - first) * s.carry_row + (j - j0);
            s.ahead_lines = dense && j == j0 ? panel_rows * sizeof(T) * ahead_steps / 64 : 0;
            s.ahead = s.a + (dense ? panel_rows * s.a_row : 0);
            Kernels::rows(s);
          }
        }
        p += s.depth;
      } while (p < k);
    }
  }
}

// Computes one rectangle of c.
template <class Kernels, class T>
void multiply(const product<T>& whole, const rectangle& part, std::span<std::byte> scratch) {
  const blocking by = choose_blocking<Kernels>(whole, part, scratch.size() / sizeof(T));
  T* const room = reinterpret_cast<T*>(scratch.data());
  if (by.pack_rows) multiply_packed<Kernels>(whole, part, by, room);
  else multiply_in_place<Kernels>(whole, part, by, room);
  if (whole.then.row_sums != nullptr && part.column_begin == 0 && !sums_while_packed(whole, by))
    sum_rows<Kernels>(whole, part.row_begin, part.row_end);
}

} // namespace cairn::detail

CAIRN_KERNELS_END
