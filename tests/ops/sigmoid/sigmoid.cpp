// SPDX-License-Identifier: MIT
#include <cairn/ops/sigmoid/cpu.hpp>
#include <cairn/ops/sigmoid/sigmoid.hpp>

#include <cmath>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"

namespace sigmoid_sigmoid_tests {

using namespace cairn;

namespace {

// The formula, in double.
double forward(double x) { return 1 / (1 + std::exp(-x)); }
double backward(double dy, double y) { return dy * y * (1 - y); }

template <class T>
void check(double tolerance) {
  cpu device;
  const auto x = steps<T>(-20, 20, 203), dy = steps<T>(-1, 2, 203);
  std::vector<T> y(203), dx(203);
  sigmoid_forward(device.compute(), 203, y.data(), x.data());
  sigmoid_backward(device.compute(), 203, dx.data(), dy.data(), y.data());
  for (std::size_t i = 0; i < 203; ++i) {
    CHECK(std::fabs(static_cast<double>(y[i]) - forward(static_cast<double>(x[i]))) <= tolerance);
    const double expected = backward(static_cast<double>(dy[i]), static_cast<double>(y[i]));
    CHECK(std::fabs(static_cast<double>(dx[i]) - expected) <= tolerance);
  }
}

} // namespace

TEST_CASE("sigmoid: the formula") {
  check<float>(1e-6);
  check<double>(1e-14);
}

TEST_CASE("sigmoid: bits do not depend on where an element lies") {
  CHECK(bits_ignore_cuts<1>(detail::sigmoid_element{}, std::array{steps<float>(-20, 20, 203)}));
  CHECK(bits_ignore_cuts<1>(detail::sigmoid_derivative{}, std::array{steps<float>(-1, 2, 203), steps<float>(-20, 20, 203)}));
  CHECK(bits_ignore_cuts<1>(detail::sigmoid_element{}, std::array{steps<double>(-20, 20, 203)}));
}

TEST_CASE("sigmoid: NaN stays visible") {
  cpu device;
  float x = NAN;
  sigmoid_forward(device.compute(), 1, &x, &x);
  CHECK(std::isnan(x));
}

} // namespace sigmoid_sigmoid_tests
