// SPDX-License-Identifier: MIT
#include <cairn/ops/mean_squared_error/cpu.hpp>
#include <cairn/ops/mean_squared_error/mean_squared_error.hpp>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"

namespace mean_squared_error_mean_squared_error_tests {

using namespace cairn;

TEST_CASE("mean_squared_error: loss and gradient, on any number of threads, also over the output") {
  for (const std::size_t count : {1U, 5U, 100U, 30000U}) {
    const auto y = steps<float>(-1, 2, count + 1), t = steps<float>(1, 0, count + 1);
    double expected = 0, losses[2] = {};
    for (std::size_t i = 0; i < count; ++i) {
      const double difference = static_cast<double>(y[i]) - static_cast<double>(t[i]);
      expected += difference * difference / static_cast<double>(count);
    }
    for (const std::size_t threads : {1U, 2U}) {
      cpu device({.threads = threads});
      auto gradient = y;
      mean_squared_error(device.compute(), &losses[threads - 1], gradient.data(), count,
                         static_cast<const float*>(gradient.data()), t.data());
      for (std::size_t i = 0; i < count; ++i)
        if (gradient[i] != static_cast<float>(2.0 / static_cast<double>(count)) * (y[i] - t[i])) FAIL(i);
    }
    CHECK(losses[0] == losses[1]);
    CHECK(losses[0] == doctest::Approx(expected).epsilon(1e-6));
  }
}

TEST_CASE("mean_squared_error: the mean of a million equal terms") {
  cpu device;
  const std::vector<float> y(std::size_t{1} << 20, 0.1F), t(y.size(), 0.0F);
  double loss = -1;
  float* const unwanted = nullptr;
  mean_squared_error(device.compute(), &loss, unwanted, y.size(), y.data(), t.data());
  CHECK(loss == doctest::Approx(static_cast<double>(0.1F) * static_cast<double>(0.1F)).epsilon(1e-12).scale(0));
}

TEST_CASE("mean_squared_error: the loss alone, and no rows") {
  cpu device;
  const std::vector<double> y{1, 2}, t{0, 4};
  double loss = -1;
  double* const unwanted = nullptr;
  mean_squared_error(device.compute(), &loss, unwanted, 2, y.data(), t.data());
  CHECK(loss == 2.5);
  mean_squared_error(device.compute(), &loss, unwanted, 0, y.data(), t.data());
  CHECK(loss == 0);
}

} // namespace mean_squared_error_mean_squared_error_tests
