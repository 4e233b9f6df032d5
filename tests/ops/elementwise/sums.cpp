// SPDX-License-Identifier: MIT
#include <cairn/ops/elementwise/sums.hpp>

#include <doctest/doctest.h>

namespace elementwise_sums_tests {

using namespace cairn;

TEST_CASE("sum_in_lanes: every term once") {
  for (const std::size_t count : {0U, 1U, 31U, 32U, 33U, 100U})
    CHECK(detail::sum_in_lanes(count, [](std::size_t i) { return static_cast<double>(i + 1); }) ==
          static_cast<double>(count * (count + 1) / 2));
}

// The terms are products that no double holds exactly: a fused addition would give other bits.
TEST_CASE("sum_in_lanes: the bits of 32 sums that are joined in pairs, whatever the instruction set") {
  const auto term = [](std::size_t i) __attribute__((always_inline)) {
    const double x = 1.0 / static_cast<double>(3 * i + 1) - 0.1, y = i % 3 == 0 ? -x : x;
    return x * y;
  };
  for (std::size_t count = 0; count < 200; ++count) {
    double lanes[32] = {};
    for (std::size_t i = 0; i < count; ++i) {
      const volatile double rounded = term(i);
      lanes[i % 32] += rounded;
    }
    for (std::size_t half = 16; half > 0; half /= 2)
      for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    CHECK(detail::sum_in_lanes(count, term) == lanes[0]);
  }
}

TEST_CASE("sum_of_parts: every item once, in parts that only the number of items decides") {
  for (const std::size_t items : {0U, 1U, 7U, 4096U, 100000U, 1234567U}) {
    double sums[2] = {};
    for (const std::size_t threads : {1U, 2U}) {
      cpu device({.threads = threads});
      // Sums of very different sizes, so that another order gives other bits.
      sums[threads - 1] = detail::sum_of_parts(device.compute(), items, 16, [](std::size_t begin, std::size_t end, auto) {
        double sum = 0;
        for (std::size_t i = begin; i < end; ++i) sum += 1.0 / static_cast<double>(i + 1);
        return sum;
      });
    }
    CHECK(sums[0] == sums[1]);
    double expected = 0;
    for (std::size_t i = items; i > 0; --i) expected += 1.0 / static_cast<double>(i);
    CHECK(sums[0] == doctest::Approx(expected).epsilon(1e-12));
  }
}

} // namespace elementwise_sums_tests
