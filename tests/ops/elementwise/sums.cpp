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
