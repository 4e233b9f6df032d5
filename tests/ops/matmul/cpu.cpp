// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <cairn/ops/matmul/cpu.hpp>

#include "case.hpp"

namespace matmul_cpu_tests {

using namespace cairn;
using namespace matmul_case;

TEST_CASE_TEMPLATE("matmul: every form, odd extents, against the reference", T, float, double) {
  cpu device;
  unsigned which = 0;
  for (const instruction_set isa : sets())
    for (const ops::transpose form : forms)
      for (const std::size_t m : {1U, 2U, 3U, 7U, 8U, 13U, 33U, 70U})
        for (const std::size_t n : {1U, 3U, 4U, 5U, 8U, 9U, 15U, 17U, 24U, 31U, 47U, 48U, 49U, 65U, 70U})
          for (const std::size_t k : {1U, 2U, 5U, 8U, 17U, 70U}) {
            const one_product<T> o(m, n, k, form, (m + n + k) % 4);
            CHECK_MESSAGE(agrees(o, device.compute(), isa, which % all_epilogues), name(o, isa, which % all_epilogues));
            which += 5; // reaches all of the epilogues, in a different order for each extent
          }
}

TEST_CASE_TEMPLATE("matmul: every epilogue, in full tiles and at the ends", T, float, double) {
  cpu device;
  for (const instruction_set isa : sets())
    for (const ops::transpose form : forms)
      for (unsigned which = 0; which < all_epilogues; ++which) {
        const one_product<T> o(15, 79, 9, form);
        CHECK_MESSAGE(agrees(o, device.compute(), isa, which), name(o, isa, which));
      }
}

TEST_CASE_TEMPLATE("matmul: one, two and three threads give the same bits", T, float, double) {
  for (const instruction_set isa : sets())
    for (const ops::transpose form : forms)
      for (const auto& [m, n, k] : {detail::product_size{96, 300, 70}, {301, 20, 130}, {40, 130, 1100}}) {
        one_product<T> one(m, n, k, form);
        REQUIRE(2 * m * n * k > detail::operations_worth_threads / 2);
        cpu single;
        one.multiply(single.compute(), isa, with_bias | addend_is_c | with_sums);
        for (const std::size_t threads : {2U, 3U}) {
          one_product<T> several(m, n, k, form);
          cpu device({.threads = threads});
          several.multiply(device.compute(), isa, with_bias | addend_is_c | with_sums);
          CHECK_MESSAGE(same_bits(several.c.numbers, one.c.numbers), name(one, isa, static_cast<unsigned>(threads)));
          CHECK_MESSAGE(same_bits(several.sums, one.sums), name(one, isa, static_cast<unsigned>(threads)));
        }
      }
}

TEST_CASE_TEMPLATE("matmul: a row's bits do not depend on how many rows there are", T, float, double) {
  cpu device;
  const std::size_t n = 75;
  for (const instruction_set isa : sets())
    for (const ops::transpose form : forms)
      for (const std::size_t k : {40U, 1030U}) {
        one_product<T> whole(131, n, k, form);
        one_product<T> parts = whole;
        whole.multiply(device.compute(), isa, with_bias | with_relu);
        for (std::size_t begin = 0, rows = 1; begin < whole.m; begin += rows, rows = rows % 9 + 1) {
          const std::size_t end = std::min(whole.m, begin + rows);
          const ops::matrix<T> a = form == ops::transpose::first ? parts.a.columns_of(begin, end) : parts.a.rows_of(begin, end);
          const ops::epilogue<T> then{.bias = parts.bias.numbers.data(), .then = ops::activation::relu};
          detail::multiply_on(device.compute(), isa,
                              detail::product<T>(parts.c.rows_of(begin, end), a, parts.b.view(), form, then));
        }
        CHECK_MESSAGE(same_bits(parts.c.numbers, whole.c.numbers), name(whole, isa, 0));
      }
}

TEST_CASE_TEMPLATE("matmul: a column's bits do not depend on the columns beside it", T, float, double) {
  cpu device;
  for (const instruction_set isa : sets())
    for (const ops::transpose form : forms) {
      one_product<T> whole(12, 101, 33, form);
      one_product<T> parts = whole;
      whole.multiply(device.compute(), isa, 0);
      for (std::size_t begin = 0, columns = 1; begin < whole.n; begin += columns, columns = columns % 23 + 1) {
        const std::size_t end = std::min(whole.n, begin + columns);
        const ops::matrix<T> b = form == ops::transpose::second ? parts.b.rows_of(begin, end) : parts.b.columns_of(begin, end);
        detail::multiply_on(device.compute(), isa,
                            detail::product<T>(parts.c.columns_of(begin, end), parts.a.view(), b, form, {}));
      }
      CHECK_MESSAGE(same_bits(parts.c.numbers, whole.c.numbers), name(whole, isa, 0));
    }
}

TEST_CASE_TEMPLATE("matmul: AVX2 and AVX-512 give the same bits", T, float, double) {
  if (sets().size() < 3) return;
  cpu device;
  for (const ops::transpose form : forms) {
    one_product<T> wide(37, 91, 1500, form);
    one_product<T> narrow = wide;
    wide.multiply(device.compute(), instruction_set::avx512, with_bias | with_sums);
    narrow.multiply(device.compute(), instruction_set::avx2, with_bias | with_sums);
    CHECK(same_bits(wide.c.numbers, narrow.c.numbers));
    CHECK(same_bits(wide.sums, narrow.sums));
  }
}

TEST_CASE_TEMPLATE("matmul: what is not finite is neither lost nor spread", T, float, double) {
  cpu device;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const instruction_set isa : sets())
    for (const ops::transpose form : forms) {
      one_product<T> o(9, 21, 6, form, 0);
      (form == ops::transpose::first ? o.a.view()(2, 4) : o.a.view()(4, 2)) = nan; // row 4 of op(a)
      o.multiply(device.compute(), isa, with_relu);
      for (std::size_t i = 0; i < o.m; ++i)
        for (std::size_t j = 0; j < o.n; ++j) CHECK(std::isnan(o.c.view()(i, j)) == (i == 4));
      o.mask.view()(4, 7) = nan;
      o.mask.view()(5, 20) = nan;
      one_product<T> expected = o;
      o.multiply(device.compute(), isa, with_mask); // where the mask is at most 0, even NaN becomes 0
      for (std::size_t j = 0; j < o.n; ++j) CHECK(std::isnan(o.c.view()(4, j)) == !(o.mask.view()(4, j) <= 0));
      expected.multiply(device.compute(), isa, 0); // where the mask is NaN, the result is unchanged
      CHECK(o.c.view()(5, 20) == expected.c.view()(5, 20));
    }
}

TEST_CASE_TEMPLATE("matmul: a product over nothing is zero, and a product of nothing writes nothing", T, float, double) {
  cpu device;
  for (const instruction_set isa : sets())
    for (const ops::transpose form : forms) {
      one_product<T> o(5, 50, 0, form);
      o.multiply(device.compute(), isa, with_bias | with_sums);
      for (std::size_t i = 0; i < o.m; ++i) {
        CHECK(o.sums[i] == T{0});
        for (std::size_t j = 0; j < o.n; ++j) CHECK(o.c.view()(i, j) == o.bias.numbers[j]);
      }
      for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{0, 7}, {7, 0}}) {
        one_product<T> nothing(m, n, 4, form);
        const auto before = nothing.c.numbers;
        nothing.multiply(device.compute(), isa, 0);
        CHECK(same_bits(nothing.c.numbers, before));
      }
    }
}

// Compares with the product in double, relative to its norm. A single chain would be off by 1.2e-6, chains of 1024 by 5.8e-7.
TEST_CASE("matmul: a long reduction is as exact as a short one") {
  cpu device;
  for (const instruction_set isa : sets())
    for (const ops::transpose form : forms)
      for (const std::size_t k : {1024U, 4096U}) {
        one_product<float> o(16, 50, k, form);
        o.multiply(device.compute(), isa, 0);
        double error = 0, norm = 0;
        for (std::size_t i = 0; i < o.m; ++i)
          for (std::size_t j = 0; j < o.n; ++j) {
            double exact = 0;
            for (std::size_t p = 0; p < k; ++p)
              exact += static_cast<double>(form == ops::transpose::first ? o.a.view()(p, i) : o.a.view()(i, p)) *
                       static_cast<double>(form == ops::transpose::second ? o.b.view()(j, p) : o.b.view()(p, j));
            const double distance = static_cast<double>(o.c.view()(i, j)) - exact;
            error += distance * distance;
            norm += exact * exact;
          }
        CHECK_MESSAGE(std::sqrt(error / norm) < (fuses(isa) ? 2.5e-7 : 3e-7), name(o, isa, 0));
      }
}

// The bias gradient of a Linear. A single chain of floats would have errors of 4e-4 and 1e-2.
TEST_CASE("matmul: sums over a million equal rows are right") {
  cpu device;
  for (const instruction_set isa : sets())
    for (const std::size_t k : {std::size_t{65'536}, std::size_t{1} << 20}) {
      std::vector<float> a(k * 3), b(k), c(3), sums(3);
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::array{0.1F, 1.0F / 3, 1e-3F}[i % 3];
      detail::multiply_on(device.compute(), isa,
                          detail::product<float>({c.data(), 3, 1}, {a.data(), k, 3}, {b.data(), k, 1}, ops::transpose::first,
                                                 {.row_sums = sums.data()}));
      for (std::size_t i = 0; i < 3; ++i)
        CHECK(static_cast<double>(sums[i]) ==
              doctest::Approx(static_cast<double>(a[i]) * static_cast<double>(k)).epsilon(1e-6).scale(0));
    }
}

TEST_CASE_TEMPLATE("matmul: the call that layers make", T, float, double) {
  cpu device;
  one_product<T> o(32, 10, 100, ops::transpose::second);
  one_product<T> expected = o;
  matmul(device.compute(), o.c.view(), o.a.view(), o.b.view(), ops::transpose::second, {.bias = o.bias.numbers.data()});
  expected.multiply_plainly(with_bias);
  CHECK(nearly(o.c.numbers, expected.c.numbers, o.k));
}

TEST_CASE_TEMPLATE("matmul_in_part: a product within a part has the bits of matmul, in the scratch that it is given", T, float,
                   double) {
  cpu device({.threads = 2});
  constexpr std::size_t behind = 4096;
  cpu::memory memory(ops::matmul_scratch_bytes + behind);
  const std::span<std::byte> scratch(memory.data(), ops::matmul_scratch_bytes);
  for (const ops::transpose form : forms)
    for (const auto& [m, n, k] :
         {detail::product_size{5, 7, 0}, {32, 70, 16}, {33, 20, 1300}, {700, 130, 32}, {90, 700, 1100}, {9000, 130, 40}})
      for (const unsigned which : {0U, with_bias | addend_is_c}) {
        one_product<T> whole(m, n, k, form), part(m, n, k, form);
        const auto isa = detail::widest_instruction_set();
        whole.multiply(device.compute(), isa, which);
        ops::matmul_in_part(scratch, part.c.view(), part.a.view(), part.b.view(), form, part.then(which));
        CHECK_MESSAGE(same_bits(part.c.numbers, whole.c.numbers), name(whole, isa, which));
      }
  const auto* const end = memory.data() + ops::matmul_scratch_bytes;
  CHECK(std::all_of(end, end + behind, [](std::byte b) { return b == std::byte{0}; }));

  one_product<T> o(2, 2, 2, ops::transpose::none);
  CHECK_THROWS_WITH_AS(ops::matmul_in_part(scratch.first(1000), o.c.view(), o.a.view(), o.b.view(), ops::transpose::none),
                       "matmul_in_part: expected scratch memory of 2097152 bytes, found 1000; leave the products more of the "
                       "part's scratch",
                       error);
}

} // namespace matmul_cpu_tests
