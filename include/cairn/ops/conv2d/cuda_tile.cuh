// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda/quad.cuh>

namespace cairn::detail {

// A tile of a product of matrices, C(m, n) = sum over k of A(m, k) B(k, n), computed by a block of threads from operands in
// shared memory. A thread has thread_rows x thread_columns sums in registers. With several lanes, each group of
// threads / Lanes threads has a whole tile of sums, over its own k; together they are the tile.
//
// Every sum is one chain of multiply-adds in T in the order of k, beginning with 0, wherever the element is in a tile, and
// whatever the tile's size is.
template <class T, unsigned Rows, unsigned Columns, unsigned Lanes>
struct product_tile {
  static constexpr unsigned threads = 128, width = quad_width<T>;
  static constexpr unsigned row_quads = 2, column_quads = 4 / width; // of a thread
  static constexpr unsigned thread_rows = row_quads * width, thread_columns = column_quads * width;
  static_assert(Rows * Columns * Lanes == threads * thread_rows * thread_columns);
  static constexpr unsigned lane_depth = 8, depth = lane_depth * Lanes; // the number of k's of a step
  static constexpr unsigned lane_threads = threads / Lanes;

  // The least number of blocks in a multiprocessor: a thread may have 128 registers, or 168 for doubles, which take two each. It
  // has its sums and the operands of the next step in them, and its many independent sums hide latencies as more threads would.
  static constexpr unsigned blocks = sizeof(T) == sizeof(float) ? 4 : 3;

  // A row of an operand is one k. The elements behind its end keep threads that write different k's in different banks.
  struct operands {
    alignas(quad_bytes) T a[depth][Rows + width];
    alignas(quad_bytes) T b[depth][Columns + width];
  };
  union shared {
    operands of;
    alignas(quad_bytes) T sums[Lanes][Rows][Columns];
  };
  struct sums {
    T at[thread_rows][thread_columns];
  };

  static CAIRN_DEVICE void clear(sums& to) {
    CAIRN_UNROLL_DEVICE
    for (unsigned i = 0; i < thread_rows; ++i) CAIRN_UNROLL_DEVICE
    for (unsigned j = 0; j < thread_columns; ++j) to.at[i][j] = T{0};
  }

  // Adds the products of one step to the sums of thread t.
  static CAIRN_DEVICE void multiply(const operands& from, unsigned t, sums& to) {
    const unsigned lane = t / lane_threads * lane_depth;
    multiply<lane_depth>(from.a + lane, from.b + lane, t, to);
  }
  // The same for k's from 0 to Depth - 1 of operands that lie anywhere in shared memory.
  template <unsigned Depth>
  static CAIRN_DEVICE void multiply(const T (*a)[Rows + width], const T (*b)[Columns + width], unsigned t, sums& to) {
    const unsigned row = first_row(t), column = first_column(t);
    CAIRN_UNROLL_DEVICE
    for (unsigned k = 0; k < Depth; ++k) {
      quad<T> x[row_quads], y[column_quads];
      CAIRN_UNROLL_DEVICE
      for (unsigned h = 0; h < row_quads; ++h) x[h] = quad_at(&a[k][h * (Rows / row_quads) + row]);
      CAIRN_UNROLL_DEVICE
      for (unsigned h = 0; h < column_quads; ++h) y[h] = quad_at(&b[k][h * (Columns / column_quads) + column]);
      CAIRN_UNROLL_DEVICE
      for (unsigned i = 0; i < thread_rows; ++i) CAIRN_UNROLL_DEVICE
      for (unsigned j = 0; j < thread_columns; ++j) to.at[i][j] += x[i / width].at[i % width] * y[j / width].at[j % width];
    }
  }

  // Writes the sums of thread t to shared memory.
  static CAIRN_DEVICE void put(const sums& from, unsigned t, shared& to) {
    const unsigned lane = t / lane_threads, row = first_row(t), column = first_column(t);
    CAIRN_UNROLL_DEVICE
    for (unsigned i = 0; i < thread_rows; ++i) CAIRN_UNROLL_DEVICE
    for (unsigned h = 0; h < column_quads; ++h) {
      quad<T> v;
      CAIRN_UNROLL_DEVICE
      for (unsigned j = 0; j < width; ++j) v.at[j] = from.at[i][h * width + j];
      T* const at = to.sums[lane][i / width * (Rows / row_quads) + row + i % width];
      put_in_shared(at + h * (Columns / column_quads) + column, v);
    }
  }

  static CAIRN_DEVICE quad<T> quad_at(const T* at) { return *reinterpret_cast<const quad<T>*>(at); }

  // The first of a thread's rows and columns; the others are next to it, and half a tile further.
  static CAIRN_DEVICE unsigned first_row(unsigned t) { return t % lane_threads / (Columns / thread_columns) * width; }
  static CAIRN_DEVICE unsigned first_column(unsigned t) { return t % lane_threads % (Columns / thread_columns) * width; }
};

} // namespace cairn::detail
