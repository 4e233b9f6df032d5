// SPDX-License-Identifier: MIT
#include <cairn/ops/activation.hpp>
#include <cairn/ops/relu/cpu.hpp>
#include <cairn/ops/relu/relu.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"

namespace relu_relu_tests {

using namespace cairn;

namespace {

// The formula, in double.
double forward(double x) { return x < 0 ? 0 : x; }
double backward(double dy, double y) { return y <= 0 ? 0 : dy; }

template <class T>
void check(double tolerance) {
  cpu device;
  const auto x = steps<T>(-3, 3, 203), dy = steps<T>(-1, 2, 203);
  std::vector<T> y(203), dx(203);
  relu_forward(device.compute(), 203, y.data(), x.data());
  relu_backward(device.compute(), 203, dx.data(), dy.data(), y.data());
  for (std::size_t i = 0; i < 203; ++i) {
    CHECK(std::fabs(static_cast<double>(y[i]) - forward(static_cast<double>(x[i]))) <= tolerance);
    const double expected = backward(static_cast<double>(dy[i]), static_cast<double>(y[i]));
    CHECK(std::fabs(static_cast<double>(dx[i]) - expected) <= tolerance);
  }
}

} // namespace

TEST_CASE("relu: the formula") {
  check<float>(0);
  check<double>(1e-14);
}

TEST_CASE("relu: bits do not depend on where an element lies") {
  CHECK(bits_ignore_cuts<1>(detail::relu_element{}, std::array{steps<float>(-3, 3, 203)}));
  CHECK(bits_ignore_cuts<1>(detail::relu_derivative{}, std::array{steps<float>(-1, 2, 203), steps<float>(-3, 3, 203)}));
  CHECK(bits_ignore_cuts<1>(detail::relu_element{}, std::array{steps<double>(-3, 3, 203)}));
}

// Measured with PyTorch 2.15: threshold_backward gives 0 where x <= 0, whatever the gradient is, and else the gradient.
TEST_CASE_TEMPLATE("relu: NaN and infinity go forward and back as in PyTorch", T, float, double) {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  cpu device;
  struct {
    T x, y, dy, dx;
  } const cases[] = {{nan, nan, 3, 3}, {nan, nan, nan, nan}, {nan, nan, infinity, infinity}, {2, 2, nan, nan},
                     {-1, 0, nan, 0},  {0, 0, nan, 0},       {-1, 0, infinity, 0},           {-infinity, 0, 1, 0}};
  for (const auto& [x, y, dy, dx] : cases)
    for (const std::size_t count : {1U, 16U, 19U}) {
      std::vector<T> value(count, x), gradient(count, dy);
      relu_forward(device.compute(), count, value.data(), static_cast<const T*>(value.data()));
      relu_backward(device.compute(), count, gradient.data(), static_cast<const T*>(gradient.data()),
                    static_cast<const T*>(value.data()));
      for (std::size_t i = 0; i < count; ++i) {
        CHECK((std::isnan(y) ? std::isnan(value[i]) : value[i] == y));
        CHECK((std::isnan(dx) ? std::isnan(gradient[i]) : gradient[i] == dx));
      }
    }
}

TEST_CASE("relu: the bits of a product's activation") {
  cpu device;
  for (const float x : {-1.0F, -0.0F, 0.0F, 1e-42F, 2.0F, INFINITY, -INFINITY}) {
    float y = 7;
    relu_forward(device.compute(), 1, &y, &x);
    CHECK(std::bit_cast<std::uint32_t>(y) == std::bit_cast<std::uint32_t>(activated(activation::relu, x)));
  }
}

} // namespace relu_relu_tests
