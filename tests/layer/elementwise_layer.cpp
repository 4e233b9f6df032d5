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
#include <cairn/layer/elu.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/leaky_relu.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/layer/silu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/layer/tanh_gelu.hpp>
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

struct silu {
  using value = detail::silu_value;
  using slope = detail::silu_slope;
  static constexpr double most = 20, tolerance = 2e-6;
  static double forward(double x) { return x / (1 + std::exp(-x)); }
  static double backward(double dy, double x) {
    const double s = 1 / (1 + std::exp(-x));
    return dy * (s + x * s * (1 - s));
  }
};
struct gelu_by_tanh {
  using value = detail::tanh_gelu_value;
  using slope = detail::tanh_gelu_slope;
  static constexpr double most = 9, tolerance = 4e-6;
  static double inner(double x) { return std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x); }
  static double forward(double x) { return 0.5 * x * (1 + std::tanh(inner(x))); }
  static double backward(double dy, double x) {
    const double slope = std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x), c = std::cosh(inner(x));
    return dy * 0.5 * (1 + std::tanh(inner(x)) + x * slope / (c * c));
  }
};
struct leaky_relu {
  using value = detail::leaky_relu_value<percent<25>>;
  using slope = detail::leaky_relu_slope<percent<25>>;
  static constexpr double most = 3, tolerance = 0;
  static double forward(double x) { return x > 0 ? x : x / 4; }
  static double backward(double dy, double y) { return y > 0 ? dy : dy / 4; }
};
struct elu {
  using value = detail::elu_value<fraction{3, 4}>;
  using slope = detail::elu_slope<fraction{3, 4}>;
  static constexpr double most = 20, tolerance = 5e-7;
  static double forward(double x) { return x > 0 ? x : 0.75 * std::expm1(x); }
  static double backward(double dy, double y) { return y <= 0 ? dy * (y + 0.75) : dy; }
};

template <class Function, class T>
void check_formula(double tolerance) {
  constexpr bool reads_input =
      std::is_same_v<Function, gelu> || std::is_same_v<Function, silu> || std::is_same_v<Function, gelu_by_tanh>;
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

TEST_CASE_TEMPLATE("elementwise_layer: the formula", Function, relu, gelu, hyperbolic, sigmoid, silu, gelu_by_tanh, leaky_relu,
                   elu) {
  check_formula<Function, float>(Function::tolerance);
  check_formula<Function, double>(2e-14);
}

// The bounds are those in the comments of the layers.
TEST_CASE("elementwise_layer: relative errors for float, on every instruction set") {
  const detail::leaves_result<detail::silu_value> silu_of{};
  CHECK(largest_error(silu_of, -87, 30, silu::forward) < 3e-7);
  CHECK(largest_error(silu_of, -1e-3, 1e-3, silu::forward) < 3e-7);
  const detail::leaves_result<detail::tanh_gelu_value> gelu_of{};
  const auto exact = [](double x) { return x / (1 + std::exp(-2 * gelu_by_tanh::inner(x))); };
  CHECK(largest_error(gelu_of, -3, 10, exact) < 1e-6);
  CHECK(largest_error(gelu_of, -5, -3, exact) < 3e-6);
  const detail::leaves_result<detail::elu_value<fraction{3, 4}>> elu_of{};
  CHECK(largest_error(elu_of, -30, 30, elu::forward) < 3e-7);
  CHECK(largest_error(elu_of, -1e-3, 1e-3, elu::forward) < 3e-7);
}

TEST_CASE_TEMPLATE("elementwise_layer: bits do not depend on where an element lies", Function, relu, gelu, hyperbolic, sigmoid,
                   silu, gelu_by_tanh, leaky_relu, elu) {
  const detail::leaves_result<typename Function::value> value{};
  const detail::leaves_result<typename Function::slope> slope{};
  const auto x = steps<float>(-Function::most, Function::most, 203);
  CHECK(bits_ignore_cuts<1>(value, std::array{x}));
  CHECK(bits_ignore_cuts<1>(slope, std::array{steps<float>(-1, 2, 203), x}));
  CHECK(bits_ignore_cuts<1>(value, std::array{steps<double>(-Function::most, Function::most, 203)}));
}

TEST_CASE_TEMPLATE("elementwise_layer: NaN stays visible", Function, relu, gelu, hyperbolic, sigmoid, silu, gelu_by_tanh,
                   leaky_relu, elu) {
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
