// SPDX-License-Identifier: MIT
#include <cairn/ops/tanh/cpu.hpp>
#include <cairn/ops/tanh/tanh.hpp>

#include <cmath>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"

namespace tanh_tanh_tests {

using namespace cairn;

namespace {

// The formula, in double.
double forward(double x) { return std::tanh(x); }
double backward(double dy, double y) { return dy * (1 - y * y); }

template <class T>
void check(double tolerance) {
  cpu device;
  const auto x = steps<T>(-6, 6, 203), dy = steps<T>(-1, 2, 203);
  std::vector<T> y(203), dx(203);
  tanh_forward(device.compute(), 203, y.data(), x.data());
  tanh_backward(device.compute(), 203, dx.data(), dy.data(), y.data());
  for (std::size_t i = 0; i < 203; ++i) {
    CHECK(std::fabs(static_cast<double>(y[i]) - forward(static_cast<double>(x[i]))) <= tolerance);
    const double expected = backward(static_cast<double>(dy[i]), static_cast<double>(y[i]));
    CHECK(std::fabs(static_cast<double>(dx[i]) - expected) <= tolerance);
  }
}

} // namespace

TEST_CASE("tanh: the formula") {
  check<float>(1e-6);
  check<double>(1e-14);
}

TEST_CASE("tanh: bits do not depend on where an element lies") {
  CHECK(bits_ignore_cuts<1>(detail::tanh_element{}, std::array{steps<float>(-6, 6, 203)}));
  CHECK(bits_ignore_cuts<1>(detail::tanh_derivative{}, std::array{steps<float>(-1, 2, 203), steps<float>(-6, 6, 203)}));
  CHECK(bits_ignore_cuts<1>(detail::tanh_element{}, std::array{steps<double>(-6, 6, 203)}));
}

TEST_CASE("tanh: NaN stays visible") {
  cpu device;
  float x = NAN;
  tanh_forward(device.compute(), 1, &x, &x);
  CHECK(std::isnan(x));
}

} // namespace tanh_tanh_tests
