// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>

#include <cairn/ops/matmul/finish_row.hpp>

#include "case.hpp"

namespace matmul_finish_row_tests {

using namespace cairn;
using namespace matmul_case;

TEST_CASE_TEMPLATE("matmul: the epilogue of a row, number by number", T, float, double) {
  for (unsigned which = 0; which < with_sums; ++which) {
    one_product<T> o(3, 11, 0, ops::transpose::none);
    o.mask.view()(1, 4) = o.mask.view()(1, 10) = std::numeric_limits<T>::quiet_NaN(); // NaN does not mask
    const grid<T> sums(1, 11, 0, 9);
    const one_product<T> before = o;
    detail::finish_row(detail::product<T>(o.c.view(), o.a.view(), o.b.view(), o.form, o.then(which)), 1, 2, 9,
                       sums.numbers.data() + 2);
    for (std::size_t j = 0; j < o.n; ++j) {
      const std::size_t at = o.c.stride + j;
      T v = sums.numbers[j];
      if (which & with_bias) v += o.bias.numbers[j];
      if (which & with_relu) v = std::fmax(v, T{0});
      if (which & addend_is_c) v += before.c.numbers[at];
      else if (which & with_addend) v += o.addend.numbers[at];
      if ((which & with_mask) && o.mask.numbers[at] <= T{0}) v = T{0};
      CHECK(o.c.numbers[at] == (j < 2 ? before.c.numbers[at] : v));
      CHECK(o.c.numbers[j] == before.c.numbers[j]); // the row above
    }
  }
}

} // namespace matmul_finish_row_tests
