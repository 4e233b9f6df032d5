// SPDX-License-Identifier: MIT
#include <cairn/core/float16.hpp>

#include <doctest/doctest.h>

#include "every_pattern.hpp"

namespace float16_tests {

using cairn::float16;

TEST_CASE("float16: every pattern becomes float and comes back, and what lies between is rounded to the nearest, ties to even") {
  check_type_of_16_bits<float16>();
  CHECK(patterns_that_change<float16>(0x200) == 0);
  CHECK(wrong_roundings<float16, float>(0x7C00) == 0);
  CHECK(wrong_roundings<float16, double>(0x7C00) == 0);
}

TEST_CASE("float16: its numbers are those of IEEE 754 binary16") {
  CHECK(static_cast<float>(float16::from_bits(0x7BFF)) == 65504);
  CHECK(static_cast<float>(float16::from_bits(0x0400)) == 0x1p-14F); // the smallest normal number
  CHECK(static_cast<float>(float16::from_bits(0x8001)) == -0x1p-24F);
  CHECK(static_cast<float>(float16::from_bits(0x3555)) == 0.333251953125F);
}

} // namespace float16_tests
