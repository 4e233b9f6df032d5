// SPDX-License-Identifier: MIT
#include <cairn/core/rounded_bits.hpp>

#include <limits>

#include <doctest/doctest.h>

namespace rounded_bits_tests {

using cairn::detail::rounded_bits;

TEST_CASE("rounded_bits: a constant expression, for both formats") {
  static_assert(rounded_bits<8>(1.0) == 0x3F80 && rounded_bits<5>(1.0) == 0x3C00);
  static_assert(rounded_bits<8>(-0.0) == 0x8000 && rounded_bits<5>(0x1p-24) == 1);
  static_assert(rounded_bits<5>(65519.0) == 0x7BFF && rounded_bits<5>(65520.0) == 0x7C00);
  static_assert(rounded_bits<5>(0x1p-25) == 0 && rounded_bits<5>(0x1.8p-25) == 1); // a tie is rounded to even, here 0
}

TEST_CASE("rounded_bits: NaN keeps its sign and the upper bits of its payload, and gives no signal") {
  CHECK(rounded_bits<8>(std::numeric_limits<double>::quiet_NaN()) == 0x7FC0);
  CHECK(rounded_bits<5>(-std::numeric_limits<double>::quiet_NaN()) == 0xFE00);
  CHECK(rounded_bits<5>(__builtin_bit_cast(double, 0x7FFA800000000000ULL)) == 0x7EA0);
}

} // namespace rounded_bits_tests
