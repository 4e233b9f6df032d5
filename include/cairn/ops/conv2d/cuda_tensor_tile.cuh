// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/ops/conv2d/cuda_tile.cuh>

namespace cairn::detail {

// A tile of a product of 16-bit elements, by the tensor cores of GPUs from compute capability 8.0 on; older ones and the host
// compute it as product_tile does. Operands lie in shared memory as floats, which were widened from T, and become T again in
// registers, which is exact. Each warp has 1024 sums, as tiles of 16 x 8 that mma.sync adds eight k's to at a time.
//
// A sum is one chain of steps of eight k's, beginning with 0, wherever the element is in a tile, and whatever the tile's size is.
// The order within a step is the GPU's. Source: NVIDIA, Parallel Thread Execution ISA, mma.m16n8k8.
template <class T, unsigned Rows, unsigned Columns, unsigned Lanes>
struct tensor_tile : product_tile<float, Rows, Columns, Lanes> {
  using base = product_tile<float, Rows, Columns, Lanes>;
  using typename base::operands;
  using typename base::shared;
  using typename base::sums;
  static_assert(sizeof(T) == 2);

  static constexpr unsigned mma_rows = 16, mma_columns = 8, mma_depth = 8, lanes = 32;
  // The sums of a warp.
  static constexpr unsigned columns = Columns < 32 || Rows < 32 ? Columns : 32, rows = 1024 / columns;
  static constexpr unsigned warps_of_row = Columns / columns;
  static_assert(base::lane_depth == mma_depth && Columns % columns == 0 && Rows % rows == 0);
  static_assert(Rows / rows * warps_of_row * Lanes * lanes == base::threads);

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

  static __device__ void multiply(const operands& from, unsigned t, sums& to) {
    const place of(t);
    __syncwarp();
    const float(*const a)[Rows + base::width] = from.a + of.lane * mma_depth + 2 * of.pair;
    const float(*const b)[Columns + base::width] = from.b + of.lane * mma_depth + 2 * of.pair;
    std::uint32_t x[rows / mma_rows][2], y[columns / mma_columns];
#pragma unroll
    for (unsigned i = 0; i < rows / mma_rows; ++i)
#pragma unroll
      for (unsigned h = 0; h < 2; ++h) {
        const unsigned row = of.row + i * mma_rows + 8 * h + of.group;
        x[i][h] = packed(a[0][row], a[1][row]);
      }
#pragma unroll
    for (unsigned j = 0; j < columns / mma_columns; ++j) {
      const unsigned column = of.column + j * mma_columns + of.group;
      y[j] = packed(b[0][column], b[1][column]);
    }
#pragma unroll
    for (unsigned i = 0; i < rows / mma_rows; ++i)
#pragma unroll
      for (unsigned j = 0; j < columns / mma_columns; ++j) add(to.at[i * (columns / mma_columns) + j], x[i], y[j]);
  }

  static __device__ void put(const sums& from, unsigned t, shared& to) {
    const place of(t);
#pragma unroll
    for (unsigned i = 0; i < rows / mma_rows; ++i)
#pragma unroll
      for (unsigned j = 0; j < columns / mma_columns; ++j)
#pragma unroll
        for (unsigned h = 0; h < 2; ++h) {
          const float(&sum)[4] = from.at[i * (columns / mma_columns) + j];
          float* const at =
              &to.sums[of.lane][of.row + i * mma_rows + 8 * h + of.group][of.column + j * mma_columns + 2 * of.pair];
          *reinterpret_cast<float2*>(at) = float2{sum[2 * h], sum[2 * h + 1]};
        }
  }

private:
  static_assert(base::thread_rows * base::thread_columns * lanes == rows * columns && base::thread_columns == 4);

  // Where a thread is: in which lane of the tile, its warp's first row and column, and its own place in a tile of mma.sync.
  struct place {
    unsigned lane, row, column, group, pair;
    __device__ explicit place(unsigned t)
        : lane(t / base::lane_threads), row(t % base::lane_threads / lanes / warps_of_row * rows),
          column(t % base::lane_threads / lanes % warps_of_row * columns), group(t % lanes / 4), pair(t % 4) {}
  };

  // Two elements of T in a register, the first in its lower half.
  static __device__ std::uint32_t packed(float first, float second) {
    if constexpr (std::is_same_v<T, bfloat16>) {
      return __byte_perm(__float_as_uint(first), __float_as_uint(second), 0x7632);
    } else {
      std::uint32_t both;
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
      return both;
    }
  }
  static __device__ void add(float (&sum)[4], const std::uint32_t (&a)[2], std::uint32_t b) {
    if constexpr (std::is_same_v<T, bfloat16>)
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                   : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                   : "r"(a[0]), "r"(a[1]), "r"(b));
    else
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                   : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                   : "r"(a[0]), "r"(a[1]), "r"(b));
  }

#endif
};

// The tile for elements of T whose sums are accumulated<T>.
template <class T, unsigned Rows, unsigned Columns, unsigned Lanes>
using tile_of_elements =
    std::conditional_t<is_narrow<T>, tensor_tile<T, Rows, Columns, Lanes>, product_tile<accumulated<T>, Rows, Columns, Lanes>>;

} // namespace cairn::detail
