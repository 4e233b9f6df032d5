// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <cstddef>
#include <utility>

#include <cairn/ops/matmul/avx2_registers.hpp>
#include <cairn/ops/matmul/product.hpp>
#include <cairn/ops/matmul/reduction.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

#define CAIRN_TILE avx2_tile
#define CAIRN_TILE_TARGET CAIRN_TARGET_AVX2
#include <cairn/ops/matmul/tile.inl>
#undef CAIRN_TILE_TARGET
#undef CAIRN_TILE

// All rows of a sliver that is Columns registers wide, Rows at a time.
// A row of two slivers.
template <class Register, class T>
CAIRN_TARGET_AVX2 void avx2_row_of_two(const sliver<T>& s) {
  avx2_tile<Register, T, 1, 6, false>::run(s, s.row_begin, Register::first(0));
}

template <class Register, class T, std::size_t Rows, std::size_t Columns, bool Partial>
CAIRN_TARGET_AVX2 void avx2_rows(const sliver<T>& s) {
  const typename Register::mask lanes = Register::first(Partial ? s.columns : 0);
  std::size_t row = s.row_begin;
  for (; row + Rows <= s.row_end; row += Rows) avx2_tile<Register, T, Rows, Columns, Partial>::run(s, row, lanes);
  for (; row + 2 <= s.row_end; row += 2) avx2_tile<Register, T, 2, Columns, Partial>::run(s, row, lanes);
  if (row < s.row_end) avx2_tile<Register, T, 1, Columns, Partial>::run(s, row, lanes);
}

} // namespace cairn::detail

CAIRN_KERNELS_END

#endif
