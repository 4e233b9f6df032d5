// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/matmul/checked_product.hpp>
#include <cairn/ops/matmul/matmul.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// A product whose transposes have become strides: op(a)(i, p) is a[i * a_row + p * a_step], op(b)(p, j) is
// b[p * b_step + j * b_column]. C is T or, for 16-bit elements, the type of their sums.
template <class T, class C = T>
struct product {
  product_size size{};
  transpose form = transpose::none;
  const T* a = nullptr;
  std::size_t a_row = 0, a_step = 0;
  const T* b = nullptr;
  std::size_t b_step = 0, b_column = 0;
  matrix<C> c{};
  epilogue<T> then{};

  product(matrix<C> c_, matrix<const T> a_, matrix<const T> b_, transpose form_, const epilogue<T>& then_)
      : size(checked_product(c_, a_, b_, form_, then_)), form(form_), a(a_.data), a_row(a_.stride), a_step(1), b(b_.data),
        b_step(b_.stride), b_column(1), c(c_), then(then_) {
    if (form == transpose::first) a_row = 1, a_step = a_.stride;
    if (form == transpose::second) b_step = 1, b_column = b_.stride;
    if (size.k == 0) { // nothing is read, but pointers to no memory must not be moved either
      if constexpr (std::is_same_v<T, C>) a = b = c.data;
      a_row = a_step = b_step = b_column = 0;
    }
  }
};

// A wide tile prefetches its next elements once every `ahead_steps` steps of the reduction. All at once they would take the
// buffers through which b arrives.
inline constexpr std::size_t ahead_steps = 16;

// The work of one kernel call: the columns [column, column + columns) of c, as many as one set of registers holds, in the rows
// [row_begin, row_end), over one reduction block.
template <class T>
struct sliver {
  const product<T>* whole = nullptr;
  const T* a = nullptr; // op(a)(row_begin, first of the block), rows a_row apart, steps of the reduction a_step
  std::size_t a_row = 0, a_step = 0;
  const T* b = nullptr; // op(b)(first of the block, column): rows of neighbouring columns, b_step apart
  std::size_t b_step = 0;
  std::size_t b_next = 0; // where a row takes two slivers at a time: from the first one's b to the second one's
  std::size_t depth = 0;  // length of the block
  std::size_t row_begin = 0, row_end = 0;
  std::size_t column = 0, columns = 0;
  // Sums of the blocks before this one, for element (row_begin + i, column + j) of c at carry[i * carry_row + j]. They are in c
  // itself, or elsewhere if the epilogue has an addend, which may be c.
  T* carry = nullptr;
  std::size_t carry_row = 0;
  bool reads_carry = false, writes_carry = false;
  // Elements that are read next, for the tile at row_begin; for other tiles they are as much further on as their rows are. A wide
  // tile prefetches ahead_lines cache lines of them every ahead_steps steps.
  const T* ahead = nullptr;
  std::size_t ahead_lines = 0;
  // Memory of tile_bytes, aligned to 64, for a tile's sums while it computes the next chain. A compiler would keep a local array
  // of a tile in registers, of which there are not enough.
  T* before = nullptr;
};

// The most bytes that the results of one tile take: 24 registers.
inline constexpr std::size_t tile_bytes = 24 * 64;

} // namespace cairn::detail

CAIRN_KERNELS_END
