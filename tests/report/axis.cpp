// SPDX-License-Identifier: MIT
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
