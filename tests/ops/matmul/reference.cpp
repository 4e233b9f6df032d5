// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>

#include <cairn/ops/matmul/reference.hpp>

namespace matmul_reference_tests {

using namespace cairn;

TEST_CASE_TEMPLATE("matmul reference: three forms by hand", T, float, double) {
  const std::array<T, 6> a{1, 2, 3, 4, 5, 6};
  const std::array<T, 6> b{7, 8, 9, 10, 11, 12};
  std::array<T, 9> c{};
  detail::matmul_reference(ops::matrix<T>(c.data(), 2, 2), {a.data(), 2, 3}, {b.data(), 3, 2}, ops::transpose::none);
  CHECK(c == std::array<T, 9>{58, 64, 139, 154});
  detail::matmul_reference(ops::matrix<T>(c.data(), 2, 2), {a.data(), 2, 3}, {b.data(), 2, 3}, ops::transpose::second);
  CHECK(c == std::array<T, 9>{50, 68, 122, 167});
  detail::matmul_reference(ops::matrix<T>(c.data(), 3, 3), {a.data(), 2, 3}, {b.data(), 2, 3}, ops::transpose::first);
  CHECK(c == std::array<T, 9>{47, 52, 57, 64, 71, 78, 81, 90, 99});
}

TEST_CASE_TEMPLATE("matmul reference: the epilogue in its order", T, float, double) {
  const std::array<T, 2> a{1, 2};
  const std::array<T, 2> b{3, -5};
  const std::array<T, 2> bias{-4, 1};
  const std::array<T, 4> mask{1, 2, 0, 3};
  std::array<T, 4> c{10, 20, 30, 40};
  std::array<T, 2> sums{};
  // a x b = 3 -5 | 6 -10; with the bias -1 -4 | 2 -9; ReLU 0 0 | 2 0; plus c; masked.
  detail::matmul_reference(ops::matrix<T>(c.data(), 2, 2), {a.data(), 2, 1}, {b.data(), 1, 2}, ops::transpose::none,
                           {.bias = bias.data(),
                            .then = ops::activation::relu,
                            .addend = {c.data(), 2, 2},
                            .mask = {mask.data(), 2, 2},
                            .row_sums = sums.data()});
  CHECK(c == std::array<T, 4>{10, 20, 0, 40});
  CHECK(sums == std::array<T, 2>{1, 2});
}

TEST_CASE_TEMPLATE("matmul reference: leading dimensions", T, float, double) {
  const std::array<T, 6> a{1, 2, 99, 3, 4, 99};
  const std::array<T, 8> b{5, 6, 99, 99, 7, 8, 99, 99};
  std::array<T, 6> c{0, 0, -1, 0, 0, -1};
  detail::matmul_reference(ops::matrix<T>(c.data(), 2, 2, 3), {a.data(), 2, 2, 3}, {b.data(), 2, 2, 4}, ops::transpose::none);
  CHECK(c == std::array<T, 6>{19, 22, -1, 43, 50, -1});
}

} // namespace matmul_reference_tests
