// SPDX-License-Identifier: MIT
#include <cairn/core/fraction.hpp>
#include <doctest/doctest.h>

namespace fraction_tests {

using namespace cairn;

TEST_CASE("fraction: a number as a template argument") {
  static_assert(static_cast<double>(percent<10>) == 0.1 && static_cast<double>(percent<150>) == 1.5);
  static_assert(static_cast<double>(fraction{1, 100000}) == 1e-5 && static_cast<double>(fraction{-3}) == -3);
  const double third = fraction{1, 3};
  CHECK(third == 1.0 / 3);
}

} // namespace fraction_tests
