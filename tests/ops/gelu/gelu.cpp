// SPDX-License-Identifier: MIT
#include <cairn/ops/gelu/cpu.hpp>
#include <cairn/ops/gelu/gelu.hpp>

#include <cmath>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"

namespace gelu_gelu_tests {

using namespace cairn;

namespace {

// The formula, in double.
double forward(double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double backward(double dy, double x) {
  return dy * (0.5 * std::erfc(-x / std::sqrt(2.0)) + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI));
}

template <class T>
void check(double tolerance) {
  cpu device;
  const auto x = steps<T>(-9, 9, 203), dy = steps<T>(-1, 2, 203);
  std::vector<T> y(203), dx(203);
  gelu_forward(device.compute(), 203, y.data(), x.data());
  gelu_backward(device.compute(), 203, dx.data(), dy.data(), x.data());
  for (std::size_t i = 0; i < 203; ++i) {
    CHECK(std::fabs(static_cast<double>(y[i]) - forward(static_cast<double>(x[i]))) <= tolerance);
    const double expected = backward(static_cast<double>(dy[i]), static_cast<double>(x[i]));
    CHECK(std::fabs(static_cast<double>(dx[i]) - expected) <= tolerance);
  }
}

} // namespace

TEST_CASE("gelu: the formula") {
  check<float>(4e-6);
  check<double>(1e-14);
}

TEST_CASE("gelu: bits do not depend on where an element lies") {
  CHECK(bits_ignore_cuts<1>(detail::gelu_element{}, std::array{steps<float>(-9, 9, 203)}));
  CHECK(bits_ignore_cuts<1>(detail::gelu_derivative{}, std::array{steps<float>(-1, 2, 203), steps<float>(-9, 9, 203)}));
  CHECK(bits_ignore_cuts<1>(detail::gelu_element{}, std::array{steps<double>(-9, 9, 203)}));
}

TEST_CASE("gelu: NaN stays visible") {
  cpu device;
  float x = NAN;
  gelu_forward(device.compute(), 1, &x, &x);
  CHECK(std::isnan(x));
}

} // namespace gelu_gelu_tests
