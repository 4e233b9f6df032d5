// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <cstddef>
#include <utility>

#include <cairn/ops/matmul/avx512_registers.hpp>
#include <cairn/ops/matmul/product.hpp>
#include <cairn/ops/matmul/reduction.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

#define CAIRN_TILE avx512_tile
#define CAIRN_TILE_TARGET CAIRN_TARGET_AVX512
#include <cairn/ops/matmul/tile.inl>
#undef CAIRN_TILE_TARGET
#undef CAIRN_TILE

// A row of two slivers.
template <class Register, class T>
CAIRN_TARGET_AVX512 void avx512_row_of_two(const sliver<T>& s) {
  avx512_tile<Register, T, 1, 6, false>::run(s, s.row_begin, Register::first(0));
}

// All rows of a sliver that is Columns registers wide: tiles of 8 rows, and the rest in tiles of 4, 2 and 1. A tile of fewer rows
// computes the same chains, only with fewer of them in flight.
template <class Register, class T, std::size_t Columns, bool Partial>
CAIRN_TARGET_AVX512 void avx512_rows(const sliver<T>& s) {
  const typename Register::mask lanes = Register::first(Partial ? s.columns : 0);
  std::size_t row = s.row_begin;
  for (; row + 8 <= s.row_end; row += 8) avx512_tile<Register, T, 8, Columns, Partial>::run(s, row, lanes);
  if (row + 4 <= s.row_end) {
    avx512_tile<Register, T, 4, Columns, Partial>::run(s, row, lanes);
    row += 4;
  }
  if (row + 2 <= s.row_end) {
    avx512_tile<Register, T, 2, Columns, Partial>::run(s, row, lanes);
    row += 2;
  }
  if (row < s.row_end) avx512_tile<Register, T, 1, Columns, Partial>::run(s, row, lanes);
}

} // namespace cairn::detail

CAIRN_KERNELS_END

#endif
