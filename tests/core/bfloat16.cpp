// SPDX-License-Identifier: MIT
#include <cairn/core/bfloat16.hpp>

#include <doctest/doctest.h>

#include "every_pattern.hpp"

namespace bfloat16_tests {

using cairn::bfloat16;

TEST_CASE("bfloat16: every pattern becomes float and comes back, and what lies between is rounded to the nearest, ties to even") {
  check_type_of_16_bits<bfloat16>();
  CHECK(patterns_that_change<bfloat16>(0x40) == 0);
  CHECK(wrong_roundings<bfloat16, float>(0x7F80) == 0);
  CHECK(wrong_roundings<bfloat16, double>(0x7F80) == 0);
}

TEST_CASE("bfloat16: a double is rounded once, not to float and then again") {
  constexpr double above = 1 + 0x1p-8 + 0x1p-40; // as a float it is halfway between 1 and the next bfloat16
  CHECK(static_cast<double>(bfloat16(above)) == 1 + 0x1p-7);
  CHECK(static_cast<double>(bfloat16(static_cast<float>(above))) == 1);
}

} // namespace bfloat16_tests
