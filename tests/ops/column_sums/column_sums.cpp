// SPDX-License-Identifier: MIT
#include <cairn/ops/column_sums/column_sums.hpp>
#include <cairn/ops/column_sums/cpu.hpp>

#include <vector>

#include <doctest/doctest.h>

using namespace cairn;

TEST_CASE("column_sums: in the order of the rows, on any number of threads") {
  for (const std::size_t threads : {1U, 2U}) {
    cpu device({.threads = threads});
    for (const std::size_t columns :
         {std::size_t{1}, std::size_t{15}, std::size_t{33}, 2 * detail::strip + 7}) {
      constexpr std::size_t rows = 9;
      const std::size_t stride = columns + 3;
      std::vector<float> x(rows * stride), sums(columns + 1, 5.0F);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0F / static_cast<float>(i + 1);
      column_sums(device.compute(), sums.data(), matrix<const float>{x.data(), rows, columns, stride});
      bool right = sums[columns] == 5.0F;
      for (std::size_t j = 0; j < columns; ++j) {
        float expected = 0;
        for (std::size_t i = 0; i < rows; ++i) expected += x[i * stride + j];
        right = right && sums[j] == expected;
      }
      CHECK(right);
    }
  }
}
