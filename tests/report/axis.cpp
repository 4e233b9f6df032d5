// SPDX-License-Identifier: MIT
#include <vector>

#include <cairn/report/axis.hpp>
#include <doctest/doctest.h>

using namespace cairn;

TEST_CASE("ticks are 1, 2 or 5 times a power of ten, and no more than asked for") {
  CHECK(decimal_step(10, 10) == doctest::Approx(1));
  CHECK(decimal_step(11, 10) == doctest::Approx(2));
  CHECK(decimal_step(3.9, 8) == doctest::Approx(0.5));
  CHECK(decimal_step(6, 1) == doctest::Approx(10));
  CHECK(decimal_step(0, 8) > 0);
  for (double most = 0.001; most < 1e6; most *= 1.37) CHECK(most / decimal_step(most, 7) <= 7.000001);
}

TEST_CASE("ticks of bytes are round in their own unit") {
  CHECK(byte_step(100 * 1024.0, 5) == doctest::Approx(20 * 1024.0));
  CHECK(byte_step(3 * 1048576.0, 6) == doctest::Approx(0.5 * 1048576.0));
  CHECK(byte_step(3, 10) == doctest::Approx(1)); // no half bytes
}

TEST_CASE("rows are numbered as densely as they have room") {
  CHECK(label_every(30, 13) == 1);
  CHECK(label_every(13, 13) == 1);
  CHECK(label_every(4.4, 13) == 5);
  CHECK(label_every(0.56, 13) == 50);
}

TEST_CASE("an axis may run either way") {
  constexpr axis_scale up{100, 20, 4};
  static_assert(up(0) == 100 && up(4) == 20 && up(1) == 80);
  static_assert(axis_scale{10, 20, 5}.length(2) == 4);
}

TEST_CASE("ticks of a logarithmic axis are 1, 2, 5 of each decade, or the decades alone") {
  const auto same = [](const std::vector<double>& found, const std::vector<double>& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]));
  };
  same(log_ticks(10, 100, 9), {10, 20, 50, 100});
  same(log_ticks(0.003, 0.06, 9), {0.005, 0.01, 0.02, 0.05});
  same(log_ticks(9, 12e6, 9), {10, 100, 1e3, 1e4, 1e5, 1e6, 1e7});
  // Half a megabyte is 500 KiB: units begin anew at 1024.
  same(log_ticks(400 * 1024.0, 3 * 1048576.0, 9, 1024), {500 * 1024.0, 1048576.0, 2 * 1048576.0});
  same(log_ticks(50 * 1024.0, 200 * 1048576.0, 5, 1024),
       {100 * 1024.0, 1048576.0, 10 * 1048576.0, 100 * 1048576.0});
  CHECK(log_ticks(0, 10, 9).empty());
  CHECK(log_ticks(2, 1, 9).empty());
}
