// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include <cairn/ops/matmul/multiply.hpp>
#include <cairn/ops/matmul/plain.hpp>

#include "case.hpp"

namespace matmul_multiply_tests {

using namespace cairn;
using namespace matmul_case;

namespace {
constexpr double nothing = 0; // its address stands for an addend
}

// These extents are processed in several pieces.
TEST_CASE_TEMPLATE("matmul: reductions of several blocks, rows in several chunks, b packed in pieces", T, float, double) {
  cpu device({.threads = 2});
  const detail::product_size sizes[] = {{3, 5, 1025},  {20, 50, 2049}, {400, 10, 1100}, {10, 210, 3000}, {300, 310, 60},
                                        {70, 40, 700}, {21, 55, 128},  {21, 55, 129},   {21, 55, 257}};
  for (const instruction_set isa : sets())
    for (const ops::transpose form : forms)
      for (const auto& [m, n, k] : sizes) {
        const one_product<T> o(m, n, k, form);
        for (const unsigned which : {with_bias | with_relu | with_sums, addend_is_c | with_mask})
          CHECK_MESSAGE(agrees(o, device.compute(), isa, which), name(o, isa, which));
      }
}

// Rows are packed if they are multiplied with many columns; with 20 columns at a time they are read in place. The sizes leave
// partial panels, groups and slivers, and with an addend several chunks of rows.
TEST_CASE("matmul: packed rows and columns give the bits that they give in place") {
  cpu device;
  for (const instruction_set isa : sets())
    for (const ops::transpose form : forms)
      for (const auto& [m, n, k] : {detail::product_size{259, 403, 330}, {525, 131, 1300}})
        for (const unsigned which : {0U, unsigned{with_addend}}) {
          one_product<float> whole(m, n, k, form);
          one_product<float> parts = whole;
          whole.multiply(device.compute(), isa, which);
          for (std::size_t begin = 0; begin < n; begin += 20) {
            const std::size_t end = std::min(n, begin + 20);
            const ops::matrix<float> b =
                form == ops::transpose::second ? parts.b.rows_of(begin, end) : parts.b.columns_of(begin, end);
            ops::epilogue<float> then;
            if (which != 0) then.addend = parts.addend.columns_of(begin, end);
            detail::multiply_on(device.compute(), isa,
                                detail::product<float>(parts.c.columns_of(begin, end), parts.a.view(), b, form, then));
          }
          CHECK_MESSAGE(same_bits(parts.c.numbers, whole.c.numbers), name(whole, isa, which));
        }
}

// Columns of a that are packed are added up while they are. The sizes leave a partial chain and a partial panel; with an addend
// and two blocks columns of c come in several groups, and sums are taken with the first.
TEST_CASE_TEMPLATE("matmul: sums of rows that are packed have the bits of sums of columns", T, float, double) {
  cpu device;
  for (const instruction_set isa : sets())
    for (const auto& [m, n, k] : {detail::product_size{259, 403, 330}, {525, 131, 1300}})
      for (const unsigned which : {unsigned{with_sums}, unsigned{with_sums | with_addend}}) {
        one_product<T> o(m, n, k, ops::transpose::first);
        const detail::product<T> whole(o.c.view(), o.a.view(), o.b.view(), o.form, o.then(which));
        const std::size_t room = cpu::queue::scratch_bytes / sizeof(T);
        CHECK(detail::choose_blocking<detail::plain_kernels<T>>(whole, {0, m, 0, n}, room).pack_rows);
        o.multiply(device.compute(), isa, which);
        std::vector<T> expected(m);
        detail::plain_kernels<T>::sum_columns(expected.data(), o.a.numbers.data(), o.a.stride, m, k);
        CHECK_MESSAGE(same_bits(o.sums, expected), name(o, isa, which));
      }
}

TEST_CASE("matmul: the pieces fit into the scratch") {
  const std::size_t room = cpu::queue::scratch_bytes / sizeof(double);
  std::size_t packed = 0;
  for (const ops::transpose form : forms)
    for (const double* const addend : {static_cast<const double*>(nullptr), static_cast<const double*>(&nothing)})
      for (const std::size_t m : {1U, 64U, 1024U, 100000U})
        for (const std::size_t n : {1U, 100U, 5000U})
          for (const std::size_t k : {0U, 1U, 100U, 1024U, 1025U, 20000U}) {
            detail::product<double> whole({}, {}, {}, form, {}); // only its extents are used
            whole.size = {m, n, k};
            whole.then.addend.data = addend;
            whole.a_row = form == ops::transpose::first ? 1 : k;
            whole.a_step = form == ops::transpose::first ? m : 1;
            whole.b_step = form == ops::transpose::second ? 1 : n;
            whole.b_column = form == ops::transpose::second ? k : 1;
            const auto by = detail::choose_blocking<detail::plain_kernels<double>>(whole, {0, m, 0, n}, room);
            REQUIRE(by.rows >= 1);
            REQUIRE(by.columns >= 1);
            CHECK(by.carry_in_c == (k > by.block && addend == nullptr));
            const bool apart = k > by.block && !by.carry_in_c;
            if (by.pack_rows) {
              ++packed;
              CHECK(by.rows % detail::panel_rows == 0);
              CHECK(by.group * by.block + by.rows / detail::panel_rows * by.panel + (apart ? by.rows * by.columns : 0) <= room);
            } else {
              CHECK(by.carried >= 1);
              CHECK((by.pack ? by.block * by.columns : 0) + (apart ? by.carried * by.columns : 0) <= room);
              if (apart) CHECK(by.rows <= by.carried);
            }
          }
  CHECK(packed > 10);
}

} // namespace matmul_multiply_tests
