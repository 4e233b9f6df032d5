// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <type_traits>

#include <cairn/core/view.hpp>

using namespace cairn;

TEST_CASE("matrix reads and writes somebody else's memory") {
  std::array<int, 6> memory{0, 1, 2, 10, 11, 12};
  const matrix<int> all(memory.data(), 2, 3);
  CHECK(all.stride == 3);
  CHECK(all(1, 2) == 12);
  all(0, 1) = 7;
  CHECK(memory[1] == 7);
}

TEST_CASE("matrix with a stride skips what lies between two rows") {
  std::array<int, 6> memory{0, 1, 2, 10, 11, 12};
  const matrix<int> left(memory.data(), 2, 2, 3);
  CHECK(left(1, 0) == 10);
  CHECK(left(1, 1) == 11);
}

TEST_CASE("a matrix to write is also one to read, not the other way round") {
  std::array<int, 2> memory{4, 5};
  const matrix<const int> reader = matrix<int>(memory.data(), 1, 2);
  CHECK(reader(0, 1) == 5);
  static_assert(std::is_convertible_v<matrix<int>, matrix<const int>>);
  static_assert(!std::is_convertible_v<matrix<const int>, matrix<int>>);
  static_assert(!std::is_convertible_v<matrix<long>, matrix<const int>>);
}
