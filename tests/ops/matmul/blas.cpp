// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cairn/core/config.hpp>

#if CAIRN_WITH_BLAS

#include <cstddef>

#include <cairn/ops/matmul/blas.hpp>

#include "case.hpp"

namespace matmul_blas_tests {

using namespace cairn;
using namespace matmul_case;

TEST_CASE_TEMPLATE("matmul with a BLAS: every form and epilogue, near the reference", T, float, double) {
  cpu device;
  for (const ops::transpose form : forms)
    for (const auto& [m, n, k] : {detail::product_size{1, 1, 1}, {5, 7, 3}, {1, 40, 9}, {40, 1, 9}, {300, 270, 20}})
      for (unsigned which = 0; which < all_epilogues; which += m > 100 ? 13 : 1) {
        one_product<T> o(m, n, k, form);
        one_product<T> expected = o;
        detail::multiply_with_blas(device.compute(), detail::product<T>(o.c.view(), o.a.view(), o.b.view(), form, o.then(which)));
        expected.multiply_plainly(which);
        CHECK_MESSAGE(nearly(o.c.numbers, expected.c.numbers, k), name(o, instruction_set::plain, which));
        CHECK_MESSAGE(nearly(o.sums, expected.sums, k), name(o, instruction_set::plain, which));
      }
}

TEST_CASE_TEMPLATE("matmul with a BLAS: one, two and three threads give the same bits", T, float, double) {
  for (const ops::transpose form : forms) {
    cpu single;
    one_product<T> one(300, 530, 40, form);
    detail::multiply_with_blas(single.compute(), detail::product<T>(one.c.view(), one.a.view(), one.b.view(), form, one.then(0)));
    for (const std::size_t threads : {2U, 3U}) {
      cpu device({.threads = threads});
      one_product<T> several(300, 530, 40, form);
      detail::multiply_with_blas(device.compute(),
                                 detail::product<T>(several.c.view(), several.a.view(), several.b.view(), form, several.then(0)));
      CHECK(same_bits(several.c.numbers, one.c.numbers));
    }
  }
}

#endif

} // namespace matmul_blas_tests
