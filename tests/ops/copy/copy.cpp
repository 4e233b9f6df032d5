// SPDX-License-Identifier: MIT
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/copy/cpu.hpp>

#include <vector>

#include <doctest/doctest.h>

namespace copy_copy_tests {

using namespace cairn;

TEST_CASE("copy: one part and several, on several threads, and onto itself") {
  for (const std::size_t threads : {1U, 2U}) {
    cpu device({.threads = threads});
    for (const std::size_t count : {0U, 1U, 1000U, 600001U}) {
      std::vector<float> from(count + 1), to(count + 1, -1.0F);
      for (std::size_t i = 0; i < count; ++i) from[i] = static_cast<float>(i % 1001);
      copy(device.compute(), count, to.data(), from.data());
      CHECK(to[count] == -1.0F);
      to[count] = from[count];
      CHECK(to == from);
      copy(device.compute(), count, to.data(), to.data());
      CHECK(to == from);
    }
  }
}

TEST_CASE("copy_matrix: strips of a matrix, on several threads, and nothing beside them") {
  constexpr std::size_t rows = 700, wide = 500; // more than one part
  for (const std::size_t threads : {1U, 2U}) {
    cpu device({.threads = threads});
    for (const std::size_t columns : {std::size_t{1}, std::size_t{37}, wide - 100}) {
      std::vector<float> from(rows * wide), to(rows * (columns + 2), -1.0F);
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
      copy_matrix(device.compute(), ops::matrix<float>{to.data() + 1, rows, columns, columns + 2},
                  ops::matrix<const float>{from.data() + 100, rows, columns, wide});
      bool right = true;
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns + 2; ++c)
          right = right && to[r * (columns + 2) + c] == (c == 0 || c == columns + 1 ? -1.0F : from[r * wide + 100 + c - 1]);
      CHECK(right);
    }
  }
}

TEST_CASE("copy_matrix: without gaps, onto itself, and of other extents") {
  cpu device;
  std::vector<float> from{1, 2, 3, 4, 5, 6}, to(6);
  copy_matrix(device.compute(), ops::matrix<float>{to.data(), 2, 3}, ops::matrix<const float>{from.data(), 2, 3});
  CHECK(to == from);
  copy_matrix(device.compute(), ops::matrix<float>{to.data(), 2, 2, 3}, ops::matrix<const float>{to.data(), 2, 2, 3});
  CHECK(to == from);
  CHECK_THROWS_AS(copy_matrix(device.compute(), ops::matrix<float>{to.data(), 3, 2}, ops::matrix<const float>{from.data(), 2, 3}),
                  error);
}

} // namespace copy_copy_tests
