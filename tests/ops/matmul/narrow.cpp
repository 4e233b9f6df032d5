// SPDX-License-Identifier: MIT
// long to compile
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/ops/matmul/narrow.hpp>
#include <cairn/ops/matmul/reference.hpp>

#include "../narrow.hpp"

namespace matmul_narrow_tests {

using namespace cairn;

namespace {

// A (9, 11) product with a reduction over 300, more than one chain. It is compared with the product of floats.
template <class T>
void check(ops::transpose form) {
  constexpr std::size_t m = 9, n = 11, k = 300;
  cpu device({.threads = 2});
  const auto a = narrow::normal<T>(m * k, 1), b = narrow::normal<T>(k * n, 2), bias = narrow::normal<T>(n, 3);
  const auto addend = narrow::normal<T>(m * n, 4), mask = narrow::normal<T>(m * n, 5);
  const bool first = form == ops::transpose::first, second = form == ops::transpose::second;
  const auto left = [&](const auto& v) { return ops::matrix(v.data(), first ? k : m, first ? m : k); };
  const auto right = [&](const auto& v) { return ops::matrix(v.data(), second ? n : k, second ? k : n); };

  std::vector<float> own_sums(m), wide_sums(m), wide(m * n), sums(m * n);
  std::vector<T> own(m * n);
  ops::epilogue<T> then{
      bias.own.data(), ops::activation::relu, {addend.own.data(), m, n}, {mask.own.data(), m, n}, own_sums.data()};
  ops::epilogue<float> wide_then{
      bias.wide.data(), ops::activation::relu, {addend.wide.data(), m, n}, {mask.wide.data(), m, n}, wide_sums.data()};
  matmul(device.compute(), ops::matrix(own.data(), m, n), left(a.own), right(b.own), form, then);
  detail::matmul_reference(ops::matrix(wide.data(), m, n), left(a.wide), right(b.wide), form, wide_then);
  CHECK(narrow::wrong(own, wide) == 0);
  CHECK(own_sums == wide_sums);

  // A float result, as for a weight's gradient, is not rounded.
  matmul(device.compute(), ops::matrix(sums.data(), m, n), left(a.own), right(b.own), form, then);
  CHECK(sums == wide);
}

} // namespace

TEST_CASE("matmul: of 16-bit elements it is the product of floats, rounded once, and as a sum not at all") {
  for (const ops::transpose form : {ops::transpose::none, ops::transpose::first, ops::transpose::second}) {
    check<bfloat16>(form);
    check<float16>(form);
  }
}

TEST_CASE("matmul: of 16-bit elements over nothing is zero") {
  cpu device({.threads = 1});
  std::vector<bfloat16> own(6, bfloat16(1.0F));
  const ops::matrix<const bfloat16> none(own.data(), 2, 0, 0), nothing(own.data(), 0, 3);
  matmul(device.compute(), ops::matrix(own.data(), 2, 3), none, nothing, ops::transpose::none);
  CHECK(narrow::wrong(own, std::vector<float>(6)) == 0);
}

} // namespace matmul_narrow_tests
