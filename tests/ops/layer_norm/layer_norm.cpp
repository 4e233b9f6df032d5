// SPDX-License-Identifier: MIT
#include <cairn/ops/layer_norm/cpu.hpp>
#include <cairn/ops/layer_norm/layer_norm.hpp>

#include <array>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"

namespace layer_norm_layer_norm_tests {

using namespace cairn;

namespace {

struct run {
  std::vector<float> y, statistics, dx, dw, db;
};

run both_ways(std::size_t rows, std::size_t features, std::size_t threads) {
  cpu device({.threads = threads});
  auto& queue = device.compute();
  auto x = steps<float>(-3, 4, rows * features + 1), dy = steps<float>(2, -1, rows * features + 1);
  for (std::size_t i = 0; i < rows * features; ++i) x[i] = std::sin(x[i] * 31), dy[i] = std::cos(dy[i] * 17);
  const auto w = steps<float>(0.5, 2, features + 1), b = steps<float>(-1, 1, features + 1);
  run r{std::vector<float>(rows * features), std::vector<float>(2 * rows), std::vector<float>(rows * features),
        std::vector<float>(features), std::vector<float>(features)};
  layer_norm_forward(queue, rows, features, 1e-5, r.y.data(), r.statistics.data(), x.data(), w.data(), b.data());
  layer_norm_backward(queue, rows, features, r.dx.data(), r.dw.data(), r.db.data(), dy.data(), x.data(),
                      static_cast<const float*>(r.statistics.data()), w.data());
  return r;
}

} // namespace

TEST_CASE("layer_norm: every row has mean 0 and variance 1 before weight and bias") {
  cpu device;
  const auto x = steps<double>(5, 9, 3 * 70);
  const std::vector<double> ones(70, 1.0), zeros(70, 0.0);
  std::vector<double> y(3 * 70);
  double* const unwanted = nullptr;
  layer_norm_forward(device.compute(), 3, 70, 0.0, y.data(), unwanted, x.data(), ones.data(), zeros.data());
  for (std::size_t row = 0; row < 3; ++row) {
    double sum = 0, square = 0;
    for (std::size_t j = 0; j < 70; ++j) sum += y[70 * row + j], square += y[70 * row + j] * y[70 * row + j];
    CHECK(std::fabs(sum) < 1e-10);
    CHECK(square / 70 == doctest::Approx(1).epsilon(1e-12));
  }
}

// A single chain of floats would have errors of 4e-4 and 1e-2.
TEST_CASE("layer_norm: gradients of weight and bias over a million equal rows") {
  cpu device;
  for (const std::size_t rows : {std::size_t{65'536}, std::size_t{1} << 20}) {
    std::vector<float> x(rows * 3), y(rows * 3), dy(rows * 3, 0.1F), statistics(2 * rows), dw(3), db(3);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::array{0.1F, 0.7F, -2.0F}[i % 3];
    const std::vector<float> w(3, 1.0F), b(3, 0.0F);
    float* const unwanted = nullptr;
    layer_norm_forward(device.compute(), rows, 3, 1e-5, y.data(), statistics.data(), x.data(), w.data(), b.data());
    layer_norm_backward(device.compute(), rows, 3, unwanted, dw.data(), db.data(), dy.data(), x.data(),
                        static_cast<const float*>(statistics.data()), w.data());
    for (std::size_t j = 0; j < 3; ++j) {
      const double share = static_cast<double>(0.1F) * static_cast<double>(rows);
      CHECK(static_cast<double>(db[j]) == doctest::Approx(share).epsilon(1e-6).scale(0));
      CHECK(static_cast<double>(dw[j]) == doctest::Approx(share * static_cast<double>(y[j])).epsilon(1e-6).scale(0));
    }
  }
}

TEST_CASE("layer_norm: the same bits on any number of threads") {
  for (const std::size_t features : {7U, 64U, 1100U}) {
    const run one = both_ways(50, features, 1), two = both_ways(50, features, 2);
    CHECK((one.y == two.y && one.statistics == two.statistics));
    CHECK((one.dx == two.dx && one.dw == two.dw && one.db == two.db));
  }
}

} // namespace layer_norm_layer_norm_tests
