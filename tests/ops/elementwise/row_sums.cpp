// SPDX-License-Identifier: MIT
#include <cairn/ops/elementwise/row_sums.hpp>

#include <array>
#include <vector>

#include <doctest/doctest.h>

#include "shifted_cuts.hpp"

namespace elementwise_row_sums_tests {

using namespace cairn;

namespace {

// Two sums of three operands, so that all of them, their order and their number matter.
struct add_two {
  template <class T>
  [[gnu::always_inline]] inline void operator()(double& a, double& b, T x, T y, T same) const {
    a += static_cast<double>(x) - static_cast<double>(same);
    b += 0.5 * static_cast<double>(y);
  }
};

} // namespace

TEST_CASE_TEMPLATE("chained_sums: chains in the type of the elements, totals in double", T, float, double) {
  for (const auto set : instruction_sets())
    for (const std::size_t columns : {1U, 16U, 33U}) {
      detail::chained_sums<T> sums;
      detail::start_sums(sums, columns);
      for (int chain = 0; chain < 3; ++chain) {
        detail::start_chain(sums, columns);
        std::vector<T> row(columns);
        for (std::size_t j = 0; j < columns; ++j) row[j] = static_cast<T>(j) + T(0.25);
        detail::add_row(sums.chain, row.data(), columns);
        detail::end_chain(set, sums, columns);
      }
      for (std::size_t j = 0; j < columns; ++j) CHECK(sums.total[j] == 3 * (static_cast<double>(j) + 0.25));
    }
}

TEST_CASE_TEMPLATE("add_rows: every element of every row once, in the order of the rows, on top of what is there", T, float,
                   double) {
  constexpr std::size_t rows = 9, stride = 100;
  const auto x = steps<T>(-1, 1, rows * stride), y = steps<T>(3, -2, rows * stride), same = steps<T>(0, 1, stride);
  for (const auto set : instruction_sets())
    for (const std::size_t columns : {std::size_t{1}, std::size_t{16}, std::size_t{47}, std::size_t{97}}) {
      std::vector<double> a(columns + 1, 2.0), b(columns + 1, 3.0);
      detail::add_rows(set, add_two{}, std::array{a.data(), b.data()},
                       std::array{ops::matrix<const T>{x.data(), rows, columns, stride},
                                  ops::matrix<const T>{y.data() + 3, rows, columns, stride},
                                  ops::matrix<const T>{same.data(), rows, columns, 0}});
      bool right = a[columns] == 2 && b[columns] == 3;
      for (std::size_t j = 0; j < columns; ++j) {
        double first = 2, second = 3;
        for (std::size_t i = 0; i < rows; ++i) {
          first += static_cast<double>(x[i * stride + j]) - static_cast<double>(same[j]);
          second += 0.5 * static_cast<double>(y[i * stride + j + 3]);
        }
        right = right && a[j] == first && b[j] == second; // no product is rounded here, so fused operations give the same bits
      }
      CHECK(right);
    }
}

} // namespace elementwise_row_sums_tests
