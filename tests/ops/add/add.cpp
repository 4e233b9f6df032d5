// SPDX-License-Identifier: MIT
#include <cairn/ops/add/add.hpp>
#include <cairn/ops/add/cpu.hpp>

#include <vector>

#include <doctest/doctest.h>

namespace add_add_tests {

using namespace cairn;

TEST_CASE("add: the sum, also on top of an operand") {
  cpu device;
  std::vector<float> a(37), b(37), sum(37);
  for (std::size_t i = 0; i < 37; ++i) a[i] = static_cast<float>(i), b[i] = static_cast<float>(3 * i);
  add(device.compute(), 37, sum.data(), a.data(), b.data());
  add(device.compute(), 36, a.data(), a.data(), b.data());
  for (std::size_t i = 0; i < 36; ++i) CHECK((sum[i] == static_cast<float>(4 * i) && a[i] == sum[i]));
  CHECK((sum[36] == 144 && a[36] == 36)); // elements beyond the count are unchanged
}

TEST_CASE("add_matrix: matrices with gaps, also on top of an operand, on several threads") {
  constexpr std::size_t rows = 900, columns = 83; // more than one part
  for (const std::size_t threads : {1U, 2U}) {
    cpu device({.threads = threads});
    std::vector<float> a(rows * 90), b(rows * 100), sum(rows * 85, -1.0F);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 1009);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 757);
    const ops::matrix<float> to{sum.data() + 1, rows, columns, 85}, first{a.data() + 3, rows, columns, 90};
    const ops::matrix<const float> second{b.data(), rows, columns, 100};
    const std::vector<float> before = a;
    add_matrix(device.compute(), to, first, second);
    add_matrix(device.compute(), first, first, second);
    bool right = true;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < 85; ++c) {
        const bool inside = c > 0 && c <= columns;
        const float expected = inside ? before[r * 90 + 3 + c - 1] + b[r * 100 + c - 1] : -1.0F;
        right = right && sum[r * 85 + c] == expected && (!inside || a[r * 90 + 3 + c - 1] == expected);
      }
    CHECK(right);
    CHECK((a[2] == before[2] && a[3 + columns] == before[3 + columns]));
  }
}

TEST_CASE("add_matrix: without gaps, and of other extents") {
  cpu device;
  std::vector<double> a{1, 2, 3, 4}, b{5, 6, 7, 8}, sum(4);
  const ops::matrix<const double> left{a.data(), 2, 2}, right{b.data(), 2, 2}, narrow{b.data(), 2, 1};
  add_matrix(device.compute(), ops::matrix<double>{sum.data(), 2, 2}, left, right);
  CHECK((sum == std::vector<double>{6, 8, 10, 12}));
  CHECK_THROWS_AS(add_matrix(device.compute(), ops::matrix<double>{sum.data(), 2, 2}, left, narrow), error);
}

} // namespace add_add_tests
