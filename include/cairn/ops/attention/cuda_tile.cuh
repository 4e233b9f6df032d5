// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/conv2d/cuda_tile.cuh>
#include <cairn/ops/elementwise/elementary.hpp>

namespace cairn::detail {

// The rows of one head in queries, keys, values, or in what lies as they do: where they are behind the array's first element. The
// array itself is an argument of the kernel, which a compiler knows to be in global memory.
struct rows_of_head {
  std::size_t first, rows;
  std::uint32_t stride, width;
  bool aligned; // all rows begin at multiples of 16 bytes, and have whole quads

  CAIRN_DEVICE std::size_t row(std::size_t i) const { return first + i * stride; }
  CAIRN_DEVICE rows_of_head from(std::size_t i) const { return {row(i), rows - i, stride, width, aligned}; }
};

// e^x for x <= 0, and 0 where that is below the least normal number.
template <class T>
CAIRN_DEVICE T exponential_of_score(T x) {
  constexpr T least = sizeof(T) == 4 ? T(-87) : T(-708);
  return x < least ? T{0} : exponential(x);
}

// A tile of the matrix of scores, of `rows` queries and `columns` keys or the reverse, and what a block of threads does with it:
//   scores(m, n)  = sum over c of X(m, c) Y(n, c)             rows of two heads, multiplied in steps of `depth` columns
//   weights(m, n) = a function of the score                   in shared memory, where all threads can read them
//   output(m, c)  = sum over n of weights(m, n) Z(n, c)       in steps of `depth` rows of Z, for `columns` columns of it
// Each score is one chain of multiply-adds over c, wherever it is in a tile: it has the same bits in the forward pass, where rows
// are queries, and in the backward pass, where rows are keys in one of the kernels. The sum over n is a chain for each tile.
//
// Elements of 16 bits are widened when they are loaded into shared memory, and an output is rounded when it is written.
template <class T>
struct attention_tile : product_tile<accumulated<T>, (sizeof(accumulated<T>) == sizeof(float) ? 64 : 32), 64, 1> {
  using wide = accumulated<T>;
  static constexpr unsigned rows = sizeof(wide) == sizeof(float) ? 64 : 32, columns = 64, depth = 16;
  using product = product_tile<wide, rows, columns, 1>;
  using product::threads, product::width;
  using typename product::sums;

  // Which keys a query may look at, and its numbers in backward.
  struct query_numbers {
    std::uint32_t begin, end;
    wide log_sum, dot;

    CAIRN_DEVICE bool looks_at(std::uint32_t key) const { return key >= begin && key < end; }
  };
  // Where a block's operands lie is in shared memory too: a compiler that keeps the place of every row in registers has too few.
  struct shared {
    rows_of_head query, key, value, output_gradient, to;
    alignas(quad_bytes) wide x[depth][rows + width];
    alignas(quad_bytes) wide y[depth][columns + width];
    union {
      alignas(quad_bytes) wide weights[columns][rows + width];
      alignas(quad_bytes) wide totals[rows][columns + width]; // in the end
    };
    query_numbers queries[columns];
  };
  // The variables of a thread: the sums of a product, and those of the output. The former are 0 before each product, and again
  // when they have been used: between products they need no registers.
  struct own {
    sums sum, total;
  };

  // The query of index i, which stands at first_place + i, and may look at the first so many keys at most. One that does not
  // exist looks at nothing.
  static CAIRN_DEVICE query_numbers query_at(const attention_extents& of, std::size_t keys, std::size_t i) {
    if (i >= of.queries) return {0, 0, wide{0}, wide{0}};
    const std::size_t place = of.first_place + i;
    return {static_cast<std::uint32_t>(of.band.begin(place, keys)), static_cast<std::uint32_t>(of.band.end(place, keys)), wide{0},
            wide{0}};
  }

  // sum += the scores of the first rows of X, and of the rows of Y from `column` on.
  template <class Block>
  static CAIRN_DEVICE void score(Block& block, shared& memory, const T* of_x, const rows_of_head& x, const T* of_y,
                                 const rows_of_head& y, std::size_t column) {
#ifdef __CUDACC__
#pragma unroll 1
#endif
    for (std::uint32_t c = 0; c < x.width; c += depth) {
      block.phase([&](unsigned t, own&) {
        load_turned<rows>(of_x, x, 0, c, t, memory.x);
        load_turned<columns>(of_y, y, column, c, t, memory.y);
      });
      block.phase([&](unsigned t, own& mine) { multiply(memory.x, memory.y, t, mine.sum); });
    }
  }

  static CAIRN_DEVICE void clear(own& mine) {
    product::clear(mine.sum);
    product::clear(mine.total);
  }

  // weights(m, n) = f(m, n, sum(m, n)), by the thread that has the sum, for the columns [First, Last) of the thread.
  template <unsigned First = 0, unsigned Last = product::thread_columns, class F>
  static CAIRN_DEVICE void weigh(sums& from, unsigned t, shared& memory, const F& f) {
    const unsigned row = product::first_row(t), column = product::first_column(t);
    CAIRN_UNROLL_DEVICE
    for (unsigned h = 0; h < product::row_quads; ++h) CAIRN_UNROLL_DEVICE
    for (unsigned j = First; j < Last; ++j) {
      const unsigned m = h * (rows / product::row_quads) + row;
      const unsigned n = j / width * (columns / product::column_quads) + column + j % width;
      quad<wide> v;
      CAIRN_UNROLL_DEVICE
      for (unsigned k = 0; k < width; ++k) {
        wide& sum = from.at[h * width + k][j];
        v.at[k] = f(m + k, n, sum);
        sum = wide{0};
      }
      put_in_shared(&memory.weights[n][m], v);
    }
  }
  static CAIRN_DEVICE void put(sums& from, unsigned t, shared& memory) {
    weigh(from, t, memory, [](unsigned, unsigned, wide score) { return score; });
  }
  // Calls f(n, weights(m, n)) for the row m of a thread and for its range of columns, each thread for one row and one range. What
  // a row needs is in registers once, after put() and while the sums need none.
  template <class F>
  static CAIRN_DEVICE void each_weight(unsigned t, shared& memory, const F& f) {
    const unsigned m = row_of(t), first = t / rows * range;
#ifdef __CUDACC__
#pragma unroll 1
#endif
    for (unsigned n = first; n < first + range; ++n) f(n, memory.weights[n][m]);
  }
  static constexpr unsigned groups = threads / rows, range = columns / groups; // ranges of a row, columns of a range
  static CAIRN_DEVICE unsigned row_of(unsigned t) { return t % rows; }

  // sum += weights Z, for the rows of Z from `row` to `end`, at most as many as the tile has columns, and for its columns from
  // `column` on.
  template <class Block>
  static CAIRN_DEVICE void sum_of_rows(Block& block, shared& memory, const T* of_z, const rows_of_head& z, std::size_t row,
                                       std::size_t end, std::uint32_t column) {
#ifdef __CUDACC__
#pragma unroll 1
#endif
    for (unsigned n = 0; n < columns && row + n < end; n += depth) {
      block.phase([&](unsigned t, own&) { load_rows(of_z, z, row + n, column, t, memory.y); });
      block.phase([&](unsigned t, own& mine) { multiply(memory.weights + n, memory.y, t, mine.sum); });
    }
  }

  // total = total factor(m) + sum, for each row m.
  template <class F>
  static CAIRN_DEVICE void add(own& mine, unsigned t, const F& factor) {
    CAIRN_UNROLL_DEVICE
    for (unsigned i = 0; i < product::thread_rows; ++i) {
      const wide by = factor(row_of_sums(t, i));
      CAIRN_UNROLL_DEVICE
      for (unsigned j = 0; j < product::thread_columns; ++j) mine.total.at[i][j] = mine.total.at[i][j] * by + mine.sum.at[i][j];
    }
    product::clear(mine.sum);
  }
  static CAIRN_DEVICE void add(own& mine) {
    CAIRN_UNROLL_DEVICE
    for (unsigned i = 0; i < product::thread_rows; ++i) CAIRN_UNROLL_DEVICE
    for (unsigned j = 0; j < product::thread_columns; ++j) mine.total.at[i][j] += mine.sum.at[i][j];
    product::clear(mine.sum);
  }
  // Writes factor(m) total to the columns of the output from `column` on, by way of shared memory.
  template <class Block, class F>
  static CAIRN_DEVICE void store(Block& block, shared& memory, T* data, std::uint32_t column, const F& factor) {
    block.phase([&](unsigned t, own& mine) {
      CAIRN_UNROLL_DEVICE
      for (unsigned i = 0; i < product::thread_rows; ++i) CAIRN_UNROLL_DEVICE
      for (unsigned h = 0; h < product::column_quads; ++h) {
        const unsigned m = row_of_sums(t, i);
        quad<wide> v;
        CAIRN_UNROLL_DEVICE
        for (unsigned j = 0; j < width; ++j) v.at[j] = mine.total.at[i][h * width + j] * factor(m);
        put_in_shared(&memory.totals[m][h * (columns / product::column_quads) + product::first_column(t)], v);
      }
    });
    block.phase([&](unsigned t, own&) {
      constexpr unsigned quads = columns / width;
      const rows_of_head& to = memory.to;
#ifdef __CUDACC__
#pragma unroll 1
#endif
      for (unsigned at = t; at < rows * quads; at += threads) {
        const unsigned m = at / quads, c = at % quads * width;
        if (m >= to.rows) return;
        store_part(data + to.row(m), product::quad_at(&memory.totals[m][c]), column + c, to.width, to.aligned);
      }
    });
  }
  template <class Block>
  static CAIRN_DEVICE void store(Block& block, shared& memory, T* data, std::uint32_t column) {
    store(block, memory, data, column, [](unsigned) { return wide{1}; });
  }

private:
  static CAIRN_DEVICE unsigned row_of_sums(unsigned t, unsigned i) {
    return i / width * (rows / product::row_quads) + product::first_row(t) + i % width;
  }
  // In two halves: a longer unrolled loop needs more registers than there are.
  static CAIRN_DEVICE void multiply(const wide (*a)[rows + width], const wide (*b)[columns + width], unsigned t, sums& to) {
#ifdef __CUDACC__
#pragma unroll 1
#endif
    for (unsigned k = 0; k < depth; k += depth / 2) product::template multiply<depth / 2>(a + k, b + k, t, to);
  }
  // The quad at (row + n, column + c), where n and c are of one thread, and the others of all; 0 if it does not exist.
  static CAIRN_DEVICE quad<wide> quad_of(const T* data, const rows_of_head& from, std::size_t row, std::uint32_t n,
                                         std::uint32_t column, std::uint32_t c) {
    const std::uint32_t left = from.rows - row < rows + columns ? static_cast<std::uint32_t>(from.rows - row) : rows + columns;
    const T* const base = data + from.row(row) + column;
    quad<wide> v{};
    if (n >= left || column + c >= from.width) return v;
    const T* const at = base + (n * from.stride + c);
    if (from.aligned) return load_part(at);
    const std::uint32_t there = from.width - column - c; // in 32 bits: the limits of a loop over c + j would stay in registers
    CAIRN_UNROLL_DEVICE
    for (unsigned j = 0; j < width; ++j)
      if (j < there) v.at[j] = widened(at[j]);
    return v;
  }
  // to(c, n) = from(row + n, column + c); what does not exist is 0.
  template <unsigned Rows>
  static CAIRN_DEVICE void load_turned(const T* data, const rows_of_head& from, std::size_t row, std::uint32_t column, unsigned t,
                                       wide (&to)[depth][Rows + width]) {
    constexpr unsigned quads = depth / width;
    CAIRN_UNROLL_DEVICE
    for (unsigned turn = 0; turn < Rows * quads / threads; ++turn) {
      const unsigned n = (turn * threads + t) / quads, c = t % quads * width;
      const quad<wide> v = quad_of(data, from, row, n, column, c);
      CAIRN_UNROLL_DEVICE
      for (unsigned j = 0; j < width; ++j) to[c + j][n] = v.at[j];
    }
  }
  // to(n, c) = from(row + n, column + c).
  static CAIRN_DEVICE void load_rows(const T* data, const rows_of_head& from, std::size_t row, std::uint32_t column, unsigned t,
                                     wide (&to)[depth][columns + width]) {
    constexpr unsigned quads = columns / width;
    CAIRN_UNROLL_DEVICE
    for (unsigned turn = 0; turn < depth * quads / threads; ++turn) {
      const unsigned n = (turn * threads + t) / quads, c = t % quads * width;
      const quad<wide> v = quad_of(data, from, row, n, column, c);
      put_in_shared(&to[n][c], v);
    }
  }
};

} // namespace cairn::detail
