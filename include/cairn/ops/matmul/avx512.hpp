// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <cstddef>

#include <cairn/ops/matmul/avx512_tile.hpp>
#include <cairn/ops/matmul/pack_avx2.hpp>
#include <cairn/ops/matmul/product.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Tiles of 8 x 3 registers: 24 results and 3 of b; the elements of a are memory operands of the multiplication. The last columns
// take a register of 32 bytes if they fit, which costs half as much.
template <class T, template <class, std::size_t> class Register = avx512_register>
struct avx512_kernels {
  using wide = Register<T, 64>;
  using narrow = Register<T, 32>;
  static constexpr std::size_t in_word = wide::in_word;

  // The number of the remaining columns that the next sliver takes, and its width when packed.
  static constexpr std::size_t widest = 3 * wide::width;
  static constexpr std::size_t sliver_columns(std::size_t left) {
    return left >= widest ? widest : left >= wide::width ? left / wide::width * wide::width : left;
  }
  static constexpr std::size_t packed_width(std::size_t columns) {
    return columns <= narrow::width ? narrow::width : (columns + wide::width - 1) / wide::width * wide::width;
  }
  static constexpr bool must_pack(std::size_t) { return false; } // a partial sliver is read with a mask

  static void rows(const sliver<T>& s) {
    if (s.columns == widest) return avx512_rows<wide, T, 3, false>(s);
    if (s.columns == 2 * wide::width) return avx512_rows<wide, T, 2, false>(s);
    if (s.columns == wide::width) return avx512_rows<wide, T, 1, false>(s);
    if (s.columns > narrow::width) return avx512_rows<wide, T, 1, true>(s);
    return avx512_rows<narrow, T, 1, true>(s);
  }

  static void row_of_two(const sliver<T>& s) { avx512_row_of_two<wide, T>(s); }

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
