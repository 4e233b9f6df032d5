// SPDX-License-Identifier: MIT
#include <cstddef>
#include <limits>
#include <string>

#include <cairn/report/format.hpp>
#include <doctest/doctest.h>

namespace format_tests {

using namespace cairn;

TEST_CASE("bytes are given in the largest binary unit that they fill") {
  CHECK(report::format_bytes(0) == "0 B");
  CHECK(report::format_bytes(1023) == "1023 B");
  CHECK(report::format_bytes(1024) == "1.00 KiB");
  CHECK(report::format_bytes(12800) == "12.5 KiB");
  CHECK(report::format_bytes(std::size_t{3} << 20) == "3.00 MiB");
  CHECK(report::format_bytes((std::size_t{1} << 20) - 1) == "1.00 MiB"); // not "1024 KiB"
  CHECK(report::format_bytes(std::size_t{5} << 40) == "5.00 TiB");
  CHECK(report::format_bytes(std::numeric_limits<std::size_t>::max()) == "16.0 EiB");
}

TEST_CASE("bytes are read as people write them") {
  CHECK(report::parse_bytes("0") == 0);
  CHECK(report::parse_bytes("4096") == 4096);
  CHECK(report::parse_bytes("512 B") == 512);
  CHECK(report::parse_bytes("3MiB") == std::size_t{3} << 20);
  CHECK(report::parse_bytes("1.5 MiB") == std::size_t{3} << 19);
  CHECK(report::parse_bytes("800KiB") == 819200);
  CHECK(report::parse_bytes("1.2MiB") == 1258291); // and 0.2 of a byte
  CHECK(report::parse_bytes("2GiB") == std::size_t{1} << 31);
  CHECK(report::parse_bytes("5TiB") == std::size_t{5} << 40);
  for (const std::size_t bytes : {std::size_t{7}, std::size_t{1} << 10, std::size_t{25} << 9, std::size_t{3} << 30})
    CHECK(report::parse_bytes(report::format_bytes(bytes)) == bytes);
}

TEST_CASE("what is no number of bytes is refused, with what it could be") {
  for (const char* const nonsense : {"", "MiB", "3MB", "3M", "3 mib", "-1", "+1", "1e6", "1.5", "0.5 B", "1.5  MiB", " 3MiB",
                                     "3MiB ", "inf", "nan", "0x10", "3,5MiB", "9000000TiB"}) {
    CAPTURE(nonsense);
    CHECK_THROWS_WITH_AS(report::parse_bytes(nonsense), doctest::Contains("expected a number of bytes such as 4096"), error);
    CHECK_THROWS_WITH_AS(report::parse_bytes(nonsense), doctest::Contains(("found '" + std::string(nonsense) + "'").c_str()),
                         error);
  }
}

TEST_CASE("three digits stay three where rounding carries") {
  CHECK(detail::three_digits(9.994) == "9.99");
  CHECK(detail::three_digits(9.996) == "10.0");
  CHECK(detail::three_digits(99.96) == "100");
  CHECK(detail::three_digits(-12.34) == "-12.3");
}

TEST_CASE("a number of any size fits") {
  CHECK(report::format_fixed(1e300, 2) == "1.00e+300");
  CHECK(report::format_fixed(-123456789012345.0, 2) == "-123456789012345.00");
}

TEST_CASE("durations choose their unit") {
  CHECK(report::format_duration(8.5e-8) == "85.0 ns");
  CHECK(report::format_duration(1.23e-5) == "12.3 us");
  CHECK(report::format_duration(4.56e-3) == "4.56 ms");
  CHECK(report::format_duration(0.9999) == "1.00 s");
  CHECK(report::format_duration(119.4) == "119 s");
  CHECK(report::format_duration(119.6) == "02:00");
  CHECK(report::format_duration(std::numeric_limits<double>::infinity()) == "?");
}

TEST_CASE("a clock shows hours only when there are any") {
  CHECK(report::format_clock(7.9) == "00:07");
  CHECK(report::format_clock(754) == "12:34");
  CHECK(report::format_clock(3723) == "1:02:03");
  CHECK(report::format_clock(-1) == "?");
  CHECK(report::format_clock(std::numeric_limits<double>::quiet_NaN()) == "?");
}

TEST_CASE("rates have decimal prefixes") {
  CHECK(report::format_quantity(0.25) == "0.25");
  CHECK(report::format_quantity(999.4) == "999");
  CHECK(report::format_quantity(999.6) == "1.00k");
  CHECK(report::format_quantity(4560000) == "4.56M");
}

TEST_CASE("counts have commas, checksums all their digits") {
  CHECK(report::format_count(21) == "21");
  CHECK(report::format_count(1021) == "1,021");
  CHECK(report::format_count(1234567) == "1,234,567");
  CHECK(report::format_checksum(0) == "0000000000000000");
  CHECK(report::format_checksum(0x0123456789abcdefULL) == "0123456789abcdef");
}

TEST_CASE("quantities have three digits and a decimal prefix") {
  CHECK(report::format_quantity(0) == "0.00");
  CHECK(report::format_quantity(65) == "65.0");
  CHECK(report::format_quantity(20128) == "20.1k");
  CHECK(report::format_quantity(999.6e9) == "1.00T");
  CHECK(report::format_quantity(3e15) == "3.00P");
}

} // namespace format_tests
