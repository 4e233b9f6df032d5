// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <type_traits>

#include <cairn/core/batch.hpp>

TEST_CASE("batch is a type that holds its size") {
  static_assert(cairn::batch<64>::size == 64);
  static_assert(std::is_empty_v<cairn::batch<1>>);
  static_assert(!std::is_same_v<cairn::batch<1>, cairn::batch<2>>);
}
