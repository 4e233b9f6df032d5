// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <cstddef>

#include <cairn/ops/matmul/avx2_tile.hpp>
#include <cairn/ops/matmul/pack_avx2.hpp>
#include <cairn/ops/matmul/product.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Tiles of 4 x 3 registers: 12 results, 3 of b and one of a use all 16 registers. A single column of registers takes 8 rows,
// since a multiplication takes longer than it takes to start 4 others.
template <class T, template <class> class Register = avx2_register>
struct avx2_kernels {
  using registers = Register<T>;
  static constexpr std::size_t in_word = registers::in_word;

  // The number of the remaining columns that the next sliver takes, and its width when packed.
  static constexpr std::size_t widest = 3 * registers::width;
  static constexpr std::size_t sliver_columns(std::size_t left) {
    return left >= widest ? widest : left >= registers::width ? left / registers::width * registers::width : left;
  }
  static constexpr std::size_t packed_width(std::size_t columns) {
    return (columns + registers::width - 1) / registers::width * registers::width;
  }
  static constexpr bool must_pack(std::size_t) { return false; } // a partial sliver is read with a mask

  static void rows(const sliver<T>& s) {
    if (s.columns == widest) return avx2_rows<registers, T, 4, 3, false>(s);
    if (s.columns == 2 * registers::width) return avx2_rows<registers, T, 4, 2, false>(s);
    if (s.columns == registers::width) return avx2_rows<registers, T, 8, 1, false>(s);
    return avx2_rows<registers, T, 8, 1, true>(s);
  }

  static void row_of_two(const sliver<T>& s) { avx2_row_of_two<registers, T>(s); }

  static void pack(T* to, std::size_t width, const T* from, std::size_t stride, std::size_t columns, std::size_t depth) {
    pack_avx2(to, width, from, stride, columns, depth);
  }
  static void pack_transposed(T* to, std::size_t width, const T* from, std::size_t stride, std::size_t columns,
                              std::size_t depth) {
    pack_transposed_avx2(to, width, from, stride, columns, depth);
  }
  static void sum_columns(T* to, const T* from, std::size_t stride, std::size_t columns, std::size_t depth) {
    sum_columns_avx2(to, from, stride, columns, depth);
  }
  static void add_chain(void* totals, const T* panel, std::size_t depth) { add_chain_avx2(totals, panel, depth); }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

#endif
