// SPDX-License-Identifier: MIT
#include <cairn/layer/elementwise_layer.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <cairn/device/cpu.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/ops/activation.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <doctest/doctest.h>

#include "../ops/elementwise/shifted_cuts.hpp"

namespace elementwise_layer_tests {

using namespace cairn;

namespace {

// The formulas in double: y of x, and dx of dy and of x or y.
struct relu {
  using value = detail::relu_value;
  using slope = detail::relu_slope;
  static constexpr double most = 3, tolerance = 0;
  static double forward(double x) { return x < 0 ? 0 : x; }
  static double backward(double dy, double y) { return y <= 0 ? 0 : dy; }
};
struct gelu {
  using value = detail::gelu_value;
  using slope = detail::gelu_slope;
  static constexpr double most = 9, tolerance = 4e-6;
  static double forward(double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }
  static double backward(double dy, double x) {
    return dy * (0.5 * std::erfc(-x / std::sqrt(2.0)) + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI));
  }
};
struct hyperbolic {
  using value = detail::tanh_value;
  using slope = detail::tanh_slope;
  static constexpr double most = 6, tolerance = 1e-6;
  static double forward(double x) { return std::tanh(x); }
  static double backward(double dy, double y) { return dy * (1 - y * y); }
};
struct sigmoid {
  using value = detail::sigmoid_value;
  using slope = detail::sigmoid_slope;
  static constexpr double most = 20, tolerance = 1e-6;
  static double forward(double x) { return 1 / (1 + std::exp(-x)); }
  static double backward(double dy, double y) { return dy * y * (1 - y); }
};

template <class Function, class T>
void check_formula(double tolerance) {
  constexpr bool reads_input = std::is_same_v<Function, gelu>;
  constexpr std::size_t count = 203;
  cpu device;
  const auto x = steps<T>(-Function::most, Function::most, count), dy = steps<T>(-1, 2, count);
  std::vector<T> y(count), dx(count);
  const std::vector<T>& read = reads_input ? x : y;
  elementwise(device.compute(), count, typename Function::value{}, y.data(), x.data());
  elementwise(device.compute(), count, typename Function::slope{}, dx.data(), dy.data(), read.data());
  for (std::size_t i = 0; i < count; ++i) {
    CHECK(std::fabs(static_cast<double>(y[i]) - Function::forward(static_cast<double>(x[i]))) <= tolerance);
    const double expected = Function::backward(static_cast<double>(dy[i]), static_cast<double>(read[i]));
    CHECK(std::fabs(static_cast<double>(dx[i]) - expected) <= tolerance);
  }
}

} // namespace

TEST_CASE_TEMPLATE("elementwise_layer: the formula", Function, relu, gelu, hyperbolic, sigmoid) {
  check_formula<Function, float>(Function::tolerance);
  check_formula<Function, double>(1e-14);
}

TEST_CASE_TEMPLATE("elementwise_layer: bits do not depend on where an element lies", Function, relu, gelu, hyperbolic, sigmoid) {
  const detail::leaves_result<typename Function::value> value{};
  const detail::leaves_result<typename Function::slope> slope{};
  const auto x = steps<float>(-Function::most, Function::most, 203);
  CHECK(bits_ignore_cuts<1>(value, std::array{x}));
  CHECK(bits_ignore_cuts<1>(slope, std::array{steps<float>(-1, 2, 203), x}));
  CHECK(bits_ignore_cuts<1>(value, std::array{steps<double>(-Function::most, Function::most, 203)}));
}

TEST_CASE_TEMPLATE("elementwise_layer: NaN stays visible", Function, relu, gelu, hyperbolic, sigmoid) {
  cpu device;
  float x = NAN;
  elementwise(device.compute(), 1, typename Function::value{}, &x, &x);
  CHECK(std::isnan(x));
}

// Measured with PyTorch 2.15: threshold_backward gives 0 where x <= 0, whatever the gradient is, and elsewhere the gradient.
TEST_CASE_TEMPLATE("ReLU: NaN and infinity go forward and back as in PyTorch", T, float, double) {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  cpu device;
  struct {
    T x, y, dy, dx;
  } const cases[] = {{nan, nan, 3, 3}, {nan, nan, nan, nan}, {nan, nan, infinity, infinity}, {2, 2, nan, nan},
                     {-1, 0, nan, 0},  {0, 0, nan, 0},       {-1, 0, infinity, 0},           {-infinity, 0, 1, 0}};
  for (const auto& [x, y, dy, dx] : cases)
    for (const std::size_t count : {1U, 16U, 19U}) {
      std::vector<T> value(count, x), gradient(count, dy);
      const T *const read = value.data(), *const given = gradient.data();
      elementwise(device.compute(), count, detail::relu_value{}, value.data(), read);
      elementwise(device.compute(), count, detail::relu_slope{}, gradient.data(), given, read);
      for (std::size_t i = 0; i < count; ++i) {
        CHECK((std::isnan(y) ? std::isnan(value[i]) : value[i] == y));
        CHECK((std::isnan(dx) ? std::isnan(gradient[i]) : gradient[i] == dx));
      }
    }
}

TEST_CASE("ReLU: the bits of a product's activation") {
  cpu device;
  for (const float x : {-1.0F, -0.0F, 0.0F, 1e-42F, 2.0F, INFINITY, -INFINITY}) {
    float y = 7;
    elementwise(device.compute(), 1, detail::relu_value{}, &y, &x);
    CHECK(std::bit_cast<std::uint32_t>(y) == std::bit_cast<std::uint32_t>(ops::activated(ops::activation::relu, x)));
  }
}

} // namespace elementwise_layer_tests
