// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/ops/matmul/checked_product.hpp>
#include <cairn/ops/matmul/matmul.hpp>

namespace matmul_matmul_tests {

using namespace cairn;

namespace {

const float numbers[64] = {};
float results[64] = {};

ops::matrix<const float> given(std::size_t rows, std::size_t columns) { return {numbers, rows, columns}; }

// Returns the text of the error, or the extents if there is none.
std::string said(ops::matrix<float> c, ops::matrix<const float> a, ops::matrix<const float> b, ops::transpose form,
                 const ops::epilogue<float>& then = {}) {
  try {
    const auto size = detail::checked_product(c, a, b, form, then);
    return std::to_string(size.m) + " " + std::to_string(size.n) + " " + std::to_string(size.k);
  } catch (const error& e) {
    return e.what();
  }
}

} // namespace

TEST_CASE("matmul: the extents of the three forms") {
  const ops::matrix<float> c(results, 2, 3);
  CHECK(said(c, given(2, 4), given(4, 3), ops::transpose::none) == "2 3 4");
  CHECK(said(c, given(4, 2), given(4, 3), ops::transpose::first) == "2 3 4");
  CHECK(said(c, given(2, 4), given(3, 4), ops::transpose::second) == "2 3 4");
}

TEST_CASE("matmul: extents that do not fit are an error that names them") {
  const ops::matrix<float> c(results, 2, 3);
  CHECK(said(c, given(2, 4), given(5, 3), ops::transpose::none) ==
        "matmul: the extents do not fit: c (2, 3) = a (2, 4) x b (5, 3); give matrices (m, n) = (m, k) x (k, "
        "n)");
  CHECK(said(c, given(2, 4), given(4, 3), ops::transpose::first).find("a (2, 4)^T x b (4, 3);") != std::string::npos);
  CHECK(said(c, given(2, 4), given(4, 3), ops::transpose::second).find("b (4, 3)^T;") != std::string::npos);
  CHECK(said({results, 3, 3}, given(2, 4), given(4, 3), ops::transpose::none).find("c (3, 3)") != std::string::npos);
  CHECK(said({results, 2, 4}, given(2, 4), given(4, 3), ops::transpose::none).find("c (2, 4)") != std::string::npos);
}

TEST_CASE("matmul: an addend or a mask unlike c is an error") {
  const ops::matrix<float> c(results, 2, 3);
  CHECK(said(c, given(2, 4), given(4, 3), ops::transpose::none, {.addend = given(2, 3), .mask = given(2, 3)}) == "2 3 4");
  CHECK(said(c, given(2, 4), given(4, 3), ops::transpose::none, {.addend = given(3, 2)}) ==
        "matmul: the epilogue's addend is (3, 2) but c is (2, 3); they must be alike");
  CHECK(said(c, given(2, 4), given(4, 3), ops::transpose::none, {.mask = given(2, 2)}) ==
        "matmul: the epilogue's mask is (2, 2) but c is (2, 3); they must be alike");
}

} // namespace matmul_matmul_tests
