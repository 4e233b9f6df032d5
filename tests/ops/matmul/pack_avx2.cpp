// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/matmul/pack_avx2.hpp>
#include <cairn/ops/matmul/plain.hpp>

#include "case.hpp"

#if CAIRN_X86

namespace matmul_pack_avx2_tests {

using namespace cairn;
using namespace matmul_case;

TEST_CASE_TEMPLATE("matmul: packing as the plain kernels pack, and nothing beyond", T, float, double) {
  if (widest_instruction_set() < instruction_set::avx2) return;
  for (const std::size_t width : {8U, 16U, 48U})
    for (std::size_t columns = width - 7; columns <= width; ++columns)
      for (const std::size_t depth : {1U, 3U, 4U, 5U, 8U, 13U, 64U, 77U, 140U}) {
        grid<T> turned(columns, depth, 2, 1); // (columns, depth), to be transposed
        grid<T> straight(depth, columns, 2, 2);
        std::vector<T> packed(depth * width + 8, T{77});
        std::vector<T> expected = packed;
        detail::pack_transposed_avx2(packed.data(), width, turned.numbers.data(), turned.stride, columns, depth);
        detail::plain_kernels<T>::pack_transposed(expected.data(), width, turned.numbers.data(), turned.stride, columns, depth);
        CHECK(same_bits(packed, expected));
        detail::pack_avx2(packed.data(), width, straight.numbers.data(), straight.stride, columns, depth);
        detail::plain_kernels<T>::pack(expected.data(), width, straight.numbers.data(), straight.stride, columns, depth);
        CHECK(same_bits(packed, expected));
      }
}

TEST_CASE_TEMPLATE("matmul: sums of columns as the plain kernels make them", T, float, double) {
  if (widest_instruction_set() < instruction_set::avx2) return;
  for (const std::size_t columns : {1U, 3U, 8U, 10U, 31U, 32U, 33U, 100U})
    for (const std::size_t depth : {0U, 1U, 15U, 16U, 17U, 32U, 129U}) {
      grid<T> from(depth, columns, 2, 3);
      std::vector<T> sums(columns + 8, T{77});
      std::vector<T> expected = sums;
      detail::sum_columns_avx2(sums.data(), from.numbers.data(), from.stride, columns, depth);
      detail::plain_kernels<T>::sum_columns(expected.data(), from.numbers.data(), from.stride, columns, depth);
      CHECK(same_bits(sums, expected));
    }
}

TEST_CASE_TEMPLATE("matmul: a chain is added to the sums of a panel as the plain kernels add it", T, float, double) {
  if (widest_instruction_set() < instruction_set::avx2) return;
  for (const std::size_t depth : {1U, 2U, 7U, 16U}) {
    const grid<T> panel(depth, 8, 0, 4);
    std::vector<double> sums{0, 1, -2, 1e-9, 1e9, 0.1, 7, -1e-3, 77}, expected = sums;
    detail::add_chain_avx2(sums.data(), panel.numbers.data(), depth);
    detail::plain_kernels<T>::add_chain(expected.data(), panel.numbers.data(), depth);
    CHECK(same_bits(sums, expected));
    CHECK((sums[0] != 0 && sums[8] == 77));
  }
}

#endif

} // namespace matmul_pack_avx2_tests
