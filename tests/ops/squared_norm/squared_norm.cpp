// SPDX-License-Identifier: MIT
#include <cairn/ops/squared_norm/cpu.hpp>
#include <cairn/ops/squared_norm/squared_norm.hpp>

#include <vector>

#include <doctest/doctest.h>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>

namespace squared_norm_squared_norm_tests {

using namespace cairn;

TEST_CASE("squared_norm: right, and the same bits on any number of threads") {
  for (const std::size_t count : {0U, 1U, 31U, 33U, 5000U, 1000003U}) {
    std::vector<float> x(count);
    double expected = 0;
    for (std::size_t i = 0; i < count; ++i) {
      x[i] = 1.0F / static_cast<float>(i % 97 + 1);
      expected += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
    double one = -1, two = -1;
    cpu alone, pair({.threads = 2});
    squared_norm(alone.compute(), &one, x.data(), count);
    squared_norm(pair.compute(), &two, x.data(), count);
    CHECK(one == two);
    CHECK(one == doctest::Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("squared_norm: of a million equal numbers") {
  cpu device;
  const std::vector<float> x(std::size_t{1} << 20, 0.1F);
  double sum = 0;
  squared_norm(device.compute(), &sum, x.data(), x.size());
  CHECK(sum == doctest::Approx(static_cast<double>(0.1F) * static_cast<double>(0.1F) * 0x1p20).epsilon(1e-12).scale(0));
}

TEST_CASE("squared_norm: float squares do not overflow") {
  cpu device;
  const std::vector<float> x(4, 1e30F);
  double sum = 0;
  squared_norm(device.compute(), &sum, x.data(), 4);
  CHECK(sum == doctest::Approx(4e60));
}

TEST_CASE_TEMPLATE("squared_norm: of 16-bit elements it is that of floats of the same values", T, bfloat16, float16) {
  cpu device({.threads = 2});
  for (const std::size_t count : {0U, 1U, 1000U, 5000U, 1000003U}) {
    std::vector<T> x(count);
    std::vector<float> wide(count);
    for (std::size_t i = 0; i < count; ++i) {
      x[i] = T(1.0F / static_cast<float>(i % 97 + 1));
      wide[i] = static_cast<float>(x[i]);
    }
    double of_own = -1, of_wide = -1;
    squared_norm(device.compute(), &of_own, x.data(), count);
    squared_norm(device.compute(), &of_wide, wide.data(), count);
    CHECK(of_own == doctest::Approx(of_wide).epsilon(1e-13));
  }
}

} // namespace squared_norm_squared_norm_tests
