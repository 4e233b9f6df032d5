// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <cairn/ops/clip/cpu.hpp>

namespace clip_clip_tests {

namespace {

double factor_of(double squares, double scale, double max_norm, const double* mean = nullptr) {
  cairn::cpu device;
  double factor = -1;
  cairn::ops::clip(device.compute(), &factor, &squares, scale, max_norm, mean);
  return factor;
}

} // namespace

TEST_CASE("clip: a norm above the largest is brought down to it, and others are left alone") {
  CHECK(factor_of(16, 1, 2) == 2 / (4 + 1e-6));
  CHECK(factor_of(16, 0.5, 2) == 2 / (2 + 1e-6)); // just below 1, as in torch
  CHECK(factor_of(1, 1, 2) == 1);
  CHECK(factor_of(16, 1, 0) == 1);
  CHECK(factor_of(0, 1, 2) == 1);
}
TEST_CASE("clip: a mean that only the device knows is part of the norm, and of the factor") {
  const double half = 0.5;
  CHECK(factor_of(64, 0.5, 1, &half) == 0.5 * (1 / (2 + 1e-6)));
  CHECK(factor_of(1, 1, 2, &half) == 0.5);
  CHECK(factor_of(16, 1, 0, &half) == 0.5);
}
TEST_CASE("clip: a norm that is no number is seen") {
  CHECK(std::isnan(factor_of(std::numeric_limits<double>::quiet_NaN(), 1, 2)));
  CHECK(factor_of(std::numeric_limits<double>::infinity(), 1, 2) == 0);
}

} // namespace clip_clip_tests
