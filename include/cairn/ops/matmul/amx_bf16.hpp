// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <cairn/ops/matmul/product.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The eight tile registers of AMX, of 16 rows of 64 bytes each, for the thread that makes one. The instructions are written out:
// not every compiler has built-in functions for them, and none uses these registers by itself.
class amx_tiles {
public:
  amx_tiles() {
    alignas(64) std::uint8_t shapes[64] = {1}; // palette 1: bytes of a row from byte 16 on, rows from byte 48 on
    for (std::size_t tile = 0; tile < 8; ++tile) shapes[16 + 2 * tile] = 64, shapes[48 + tile] = 16;
    __asm__ volatile("ldtilecfg %0" : : "m"(shapes));
  }
  amx_tiles(const amx_tiles&) = delete;
  amx_tiles& operator=(const amx_tiles&) = delete;
  ~amx_tiles() { __asm__ volatile("tilerelease"); }
};

// The sums of 32 x 32 elements in four tiles, from pairs of bfloat16 in words that are called floats. Rows of op(a) lie along the
// reduction, rows of pairs of op(b) across it, and both are filled up with zeros: a tile takes 32 elements of the reduction.
//
// One instruction adds the products of the first elements of 16 pairs in one chain and those of the second in another, from zero,
// then both, and that sum to the tile. Subnormal numbers count as zero. A block of the reduction starts from zero.
struct amx_bf16_kernels {
  static constexpr std::size_t side = 16, widest = 2 * side;
  static constexpr std::size_t sliver_columns(std::size_t left) { return std::min(left, widest); }
  static constexpr std::size_t packed_width(std::size_t) { return widest; }

  // Writes all 32 columns, and 16 or 32 rows, to where the carry is.
  static void rows(const sliver<float>& s) {
    if (s.row_end > side) tiles_of_32(s);
    else tiles_of_16(s);
    if (!s.reads_carry) {
      store<0>(s.carry, s.carry_row);
      store<1>(s.carry + side, s.carry_row);
      if (s.row_end <= side) return;
      store<2>(s.carry + side * s.carry_row, s.carry_row);
      store<3>(s.carry + side * s.carry_row + side, s.carry_row);
      return;
    }
    alignas(64) float sums[widest * widest];
    store<0>(sums, widest);
    store<1>(sums + side, widest);
    if (s.row_end > side) {
      store<2>(sums + side * widest, widest);
      store<3>(sums + side * widest + side, widest);
    }
    for (std::size_t i = 0; i < s.row_end; ++i) {
      float* const to = s.carry + i * s.carry_row;
      for (std::size_t j = 0; j < widest; ++j) to[j] += sums[i * widest + j];
    }
  }

private:
  // The number of a tile must be part of the instruction.
  template <int Tile>
  [[gnu::always_inline]] static void load(const float* from, std::size_t row) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(row * sizeof(float)), "i"(Tile) : "memory");
  }
  template <int Tile>
  [[gnu::always_inline]] static void store(float* to, std::size_t row) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(row * sizeof(float)), "i"(Tile) : "memory");
  }
  template <int Tile>
  [[gnu::always_inline]] static void clear() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(Tile));
  }
  template <int Sum, int A, int B>
  [[gnu::always_inline]] static void add() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sum), "i"(A), "i"(B));
  }

  static void tiles_of_32(const sliver<float>& s) {
    clear<0>(), clear<1>(), clear<2>(), clear<3>();
    for (std::size_t q = 0; q < s.depth; q += side) {
      load<4>(s.a + q, s.a_row);
      load<6>(s.b + q * widest, widest);
      add<0, 4, 6>();
      load<7>(s.b + q * widest + side, widest);
      add<1, 4, 7>();
      load<5>(s.a + side * s.a_row + q, s.a_row);
      add<2, 5, 6>();
      add<3, 5, 7>();
    }
  }
  static void tiles_of_16(const sliver<float>& s) {
    clear<0>(), clear<1>();
    for (std::size_t q = 0; q < s.depth; q += side) {
      load<4>(s.a + q, s.a_row);
      load<6>(s.b + q * widest, widest);
      add<0, 4, 6>();
      load<7>(s.b + q * widest + side, widest);
      add<1, 4, 7>();
    }
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

#endif
