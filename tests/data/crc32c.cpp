// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>

#include <cairn/data/crc32c.hpp>
#include <doctest/doctest.h>

namespace crc32c_tests {

using namespace cairn::detail;

TEST_CASE("crc32c: the check value of the polynomial, and the examples of RFC 3720") {
  static_assert(crc32c("123456789") == 0xE3069283U);
  static_assert(crc32c("") == 0);
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAU);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62A8AB43U);
  std::string rising(32, '\0'), falling(32, '\0');
  for (std::size_t i = 0; i < 32; ++i) rising[i] = static_cast<char>(i), falling[i] = static_cast<char>(31 - i);
  CHECK(crc32c(rising) == 0x46DD794EU);
  CHECK(crc32c(falling) == 0x113FDB5CU);
}

TEST_CASE("crc32c: one bit that differs changes it, wherever it is") {
  const std::string text = "a record of some length, to be stored";
  for (std::size_t at = 0; at < text.size(); ++at)
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string other = text;
      other[at] = static_cast<char>(static_cast<unsigned char>(other[at]) ^ (1U << bit));
      REQUIRE(crc32c(other) != crc32c(text));
    }
}

TEST_CASE("crc32c: masked, as records have it") {
  // Every event file begins with the length of its first record, 24, in 8 bytes, and this checksum of it.
  CHECK(masked_crc32c(std::string("\x18\0\0\0\0\0\0\0", 8)) == 0x224B7FA3U);
  static_assert(masked_crc32c("123456789") == ((0xE3069283U >> 15U | 0xE3069283U << 17U) + 0xA282EAD8U));
}

} // namespace crc32c_tests
