// SPDX-License-Identifier: MIT
#include <cairn/ops/activation.hpp>
#include <cairn/ops/relu/cpu.hpp>
#include <cairn/ops/relu/relu.hpp>

#include <bit>
#include <cmath>
#include <cstdint>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"

using namespace cairn;

namespace {

// The formula, in double.
double forward(double x) { return x < 0 ? 0 : x; }
double backward(double dy, double y) { return y > 0 ? dy : 0; }

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
  CHECK(bits_ignore_cuts<1>(detail::relu_derivative{},
                            std::array{steps<float>(-1, 2, 203), steps<float>(-3, 3, 203)}));
  CHECK(bits_ignore_cuts<1>(detail::relu_element{}, std::array{steps<double>(-3, 3, 203)}));
}

TEST_CASE("relu: NaN stays visible") {
  cpu device;
  float x = NAN;
  relu_forward(device.compute(), 1, &x, &x);
  CHECK(std::isnan(x));
}

TEST_CASE("relu: the bits of a product's activation") {
  cpu device;
  for (const float x : {-1.0F, -0.0F, 0.0F, 1e-42F, 2.0F, INFINITY, -INFINITY}) {
    float y = 7;
    relu_forward(device.compute(), 1, &y, &x);
    CHECK(std::bit_cast<std::uint32_t>(y) == std::bit_cast<std::uint32_t>(activated(activation::relu, x)));
  }
}
