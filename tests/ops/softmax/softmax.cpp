// SPDX-License-Identifier: MIT
#include <cairn/ops/softmax/cpu.hpp>
#include <cairn/ops/softmax/softmax.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"

namespace softmax_softmax_tests {

using namespace cairn;

namespace {

template <class T>
struct run {
  std::vector<T> y, dx;
  bool operator==(const run&) const = default;
};

template <class T>
std::vector<T> waves(std::size_t count, double of) {
  auto x = steps<T>(-3, 4, count + 1);
  for (T& v : x) v = static_cast<T>(3 * std::sin(static_cast<double>(v) * of));
  x.pop_back();
  return x;
}

template <class T>
run<T> both_ways(std::size_t rows, std::size_t columns, std::size_t threads, bool in_place) {
  cpu device({.threads = threads});
  auto& queue = device.compute();
  const auto x = waves<T>(rows * columns, 31), dy = waves<T>(rows * columns, 17);
  run<T> r{x, dy};
  softmax_forward(queue, rows, columns, r.y.data(), in_place ? static_cast<const T*>(r.y.data()) : x.data());
  softmax_backward(queue, rows, columns, r.dx.data(), in_place ? static_cast<const T*>(r.dx.data()) : dy.data(),
                   static_cast<const T*>(r.y.data()));
  return r;
}

} // namespace

TEST_CASE_TEMPLATE("softmax: the formulas, also in place, and the same bits on any number of threads", T, float, double) {
  constexpr double most = sizeof(T) == sizeof(float) ? 1e-6 : 1e-14;
  for (const std::size_t columns : {1U, 7U, 64U, 1100U}) {
    constexpr std::size_t rows = 50;
    const run<T> r = both_ways<T>(rows, columns, 1, false);
    CHECK(r == both_ways<T>(rows, columns, 2, true));
    const auto x = waves<T>(rows * columns, 31), dy = waves<T>(rows * columns, 17);
    for (std::size_t row = 0; row < rows; ++row) {
      double sum = 0, product = 0;
      std::vector<double> y(columns);
      for (std::size_t j = 0; j < columns; ++j) sum += y[j] = std::exp(static_cast<double>(x[row * columns + j]));
      for (double& v : y) v /= sum;
      for (std::size_t j = 0; j < columns; ++j) product += y[j] * static_cast<double>(dy[row * columns + j]);
      for (std::size_t j = 0; j < columns; ++j) {
        const std::size_t i = row * columns + j;
        CHECK(std::fabs(static_cast<double>(r.y[i]) / y[j] - 1) < most);
        CHECK(std::fabs(static_cast<double>(r.dx[i]) - y[j] * (static_cast<double>(dy[i]) - product)) < most);
      }
    }
  }
}

TEST_CASE("softmax: relative errors of elements far below the maximum, and no overflow") {
  cpu device;
  std::vector<float> x(1000), y(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = 500.0F - static_cast<float>(j) * 0.087F;
  softmax_forward(device.compute(), 1, x.size(), y.data(), static_cast<const float*>(x.data()));
  double sum = 0;
  for (const float v : x) sum += std::exp(static_cast<double>(v) - 500);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double below = static_cast<double>(x[j]) - 500, expected = std::exp(below) / sum;
    CHECK(std::fabs(static_cast<double>(y[j]) / expected - 1) < (below >= -10 ? 1e-6 : 6e-6));
  }
}

// A processor takes a hundred times as long for numbers below the least normal one.
TEST_CASE("softmax: a share is zero before it is too small to be normal") {
  cpu device;
  std::vector<float> x(200), y(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = -static_cast<float>(j);
  softmax_forward(device.compute(), 1, x.size(), y.data(), static_cast<const float*>(x.data()));
  for (std::size_t j = 0; j < x.size(); ++j) CHECK((j < 87 ? y[j] > 0 : j == 87 || y[j] == 0));
}

TEST_CASE_TEMPLATE("softmax: -infinity has no share, and NaN stays in its row", T, float, double) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  cpu device;
  const std::vector<T> x{0, -infinity, 0, 1, std::numeric_limits<T>::quiet_NaN(), 2, -infinity, -infinity, -infinity, 5, 5, 5};
  std::vector<T> y(12);
  softmax_forward(device.compute(), 4, 3, y.data(), x.data());
  CHECK((y[0] == T(0.5) && y[1] == 0 && y[2] == T(0.5)));
  for (std::size_t i = 3; i < 9; ++i) CHECK(std::isnan(y[i]));
  CHECK(static_cast<double>(y[9]) == doctest::Approx(1.0 / 3));
}

} // namespace softmax_softmax_tests
