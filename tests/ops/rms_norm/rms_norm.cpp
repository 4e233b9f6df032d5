// SPDX-License-Identifier: MIT
#include <cairn/ops/rms_norm/cpu.hpp>
#include <cairn/ops/rms_norm/rms_norm.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"

namespace rms_norm_rms_norm_tests {

using namespace cairn;

namespace {

struct run {
  std::vector<float> y, inverses, dx, dw;
  bool operator==(const run&) const = default;
};

run both_ways(std::size_t rows, std::size_t features, std::size_t threads, bool in_place) {
  cpu device({.threads = threads});
  auto& queue = device.compute();
  auto x = steps<float>(-3, 4, rows * features + 1), dy = steps<float>(2, -1, rows * features + 1);
  for (std::size_t i = 0; i <= rows * features; ++i) x[i] = std::sin(x[i] * 31), dy[i] = std::cos(dy[i] * 17);
  const auto w = steps<float>(0.5, 2, features + 1);
  run r{x, std::vector<float>(rows), dy, std::vector<float>(features)};
  rms_norm_forward(queue, rows, features, 1e-5, r.y.data(), r.inverses.data(), in_place ? r.y.data() : x.data(), w.data());
  rms_norm_backward(queue, rows, features, r.dx.data(), r.dw.data(), in_place ? r.dx.data() : dy.data(), x.data(),
                    static_cast<const float*>(r.inverses.data()), w.data());
  return r;
}

} // namespace

TEST_CASE("rms_norm: every row has a mean square of 1 before the weight") {
  cpu device;
  const auto x = steps<double>(5, 9, 3 * 70);
  const std::vector<double> ones(70, 1.0);
  std::vector<double> y(3 * 70);
  double* const unwanted = nullptr;
  rms_norm_forward(device.compute(), 3, 70, 0.0, y.data(), unwanted, x.data(), ones.data());
  for (std::size_t row = 0; row < 3; ++row) {
    double square = 0;
    for (std::size_t j = 0; j < 70; ++j) square += y[70 * row + j] * y[70 * row + j];
    CHECK(square / 70 == doctest::Approx(1).epsilon(1e-12));
    CHECK(y[70 * row] / y[70 * row + 69] == doctest::Approx(x[70 * row] / x[70 * row + 69]).epsilon(1e-12));
  }
}

// A single chain of floats would have errors of 4e-4 and 1e-2.
TEST_CASE("rms_norm: the gradient of the weight over a million equal rows") {
  cpu device;
  for (const std::size_t rows : {std::size_t{65'536}, std::size_t{1} << 20}) {
    std::vector<float> x(rows * 3), y(rows * 3), dy(rows * 3, 0.1F), inverses(rows), dw(3);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::array{0.1F, 0.7F, -2.0F}[i % 3];
    const std::vector<float> w(3, 1.0F);
    float* const unwanted = nullptr;
    rms_norm_forward(device.compute(), rows, 3, 1e-5, y.data(), inverses.data(), x.data(), w.data());
    rms_norm_backward(device.compute(), rows, 3, unwanted, dw.data(), dy.data(), x.data(),
                      static_cast<const float*>(inverses.data()), w.data());
    for (std::size_t j = 0; j < 3; ++j) {
      const double share = static_cast<double>(0.1F) * static_cast<double>(rows);
      CHECK(static_cast<double>(dw[j]) == doctest::Approx(share * static_cast<double>(y[j])).epsilon(1e-6).scale(0));
    }
  }
}

TEST_CASE("rms_norm: the same bits on any number of threads, also in place") {
  for (const std::size_t features : {7U, 64U, 1100U})
    CHECK(both_ways(50, features, 1, false) == both_ways(50, features, 2, true));
}

} // namespace rms_norm_rms_norm_tests
