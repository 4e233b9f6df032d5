// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>

#include <cairn/ops/matmul/multiply.hpp>
#include <cairn/ops/matmul/plain.hpp>

#include "case.hpp"

using namespace cairn;
using namespace matmul_case;

// Extents at which a rectangle is walked in several pieces.
TEST_CASE_TEMPLATE("matmul: reductions of several blocks, rows in several chunks, b packed in pieces", T, float, double) {
  cpu device({.threads = 2});
  const detail::product_size sizes[] = {{3, 5, 1025},  {20, 50, 2049}, {400, 10, 1100}, {10, 210, 3000}, {300, 310, 60},
                                        {70, 40, 700}, {21, 55, 128},  {21, 55, 129},   {21, 55, 257}};
  for (const instruction_set isa : sets())
    for (const transpose form : forms)
      for (const auto& [m, n, k] : sizes) {
        const one_product<T> o(m, n, k, form);
        for (const unsigned which : {with_bias | with_relu | with_sums, addend_is_c | with_mask})
          CHECK_MESSAGE(agrees(o, device.compute(), isa, which), name(o, isa, which));
      }
}

TEST_CASE("matmul: the pieces fit into the scratch") {
  const std::size_t room = cpu::queue::scratch_bytes / sizeof(double);
  for (const std::size_t m : {1U, 64U, 1024U, 100000U})
    for (const std::size_t n : {1U, 100U, 5000U})
      for (const std::size_t k : {0U, 1U, 100U, 1024U, 1025U, 20000U}) {
        detail::product<double> whole({}, {}, {}, transpose::second, {}); // only its extents are looked at
        whole.size = {m, n, k};
        const auto by = detail::choose_blocking<detail::plain_kernels<double>>(whole, {0, m, 0, n}, room);
        REQUIRE(by.rows >= 1);
        REQUIRE(by.columns >= 1);
        if (k > by.block) {
          CHECK(by.block * by.columns <= room / 4 * 3);
          CHECK(by.rows * by.columns <= room / 4);
        } else if (by.pack) CHECK(by.block * by.columns <= room);
      }
}
