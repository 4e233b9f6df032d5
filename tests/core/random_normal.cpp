// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <cairn/core/random_normal.hpp>

namespace random_normal_tests {

using namespace cairn;

TEST_CASE("fill_normal has the moments and the tails of a normal distribution") {
  std::vector<double> numbers(100000);
  ops::fill_normal(std::span<double>(numbers), types::random_key{.seed = 1});
  double sums[5] = {};
  int beyond_two = 0;
  for (const double x : numbers) {
    for (int power = 1; power < 5; ++power) sums[power] += std::pow(x, power);
    beyond_two += std::abs(x) > 2 ? 1 : 0;
  }
  const auto count = static_cast<double>(numbers.size());
  CHECK(std::abs(sums[1] / count) < 0.015); // each bound is more than four standard deviations
  CHECK(std::abs(sums[2] / count - 1) < 0.02);
  CHECK(std::abs(sums[3] / count) < 0.05);
  CHECK(std::abs(sums[4] / count - 3) < 0.13);
  CHECK(std::abs(beyond_two / count - 0.0455) < 0.003);
  double neighbours = 0;
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) neighbours += numbers[i] * numbers[i + 1];
  CHECK(std::abs(neighbours / count) < 0.015);
}

TEST_CASE("a normal number depends on its key and its index alone") {
  std::vector<float> all(23);
  ops::fill_normal(std::span<float>(all), types::random_key{.seed = 4, .position = 2});
  for (std::size_t first = 0; first < all.size(); ++first)
    for (std::size_t count = 0; first + count <= all.size(); ++count) {
      std::vector<float> some(count);
      ops::fill_normal(std::span<float>(some), types::random_key{.seed = 4, .position = 2}, first);
      for (std::size_t i = 0; i < count; ++i) CHECK(some[i] == all[first + i]);
    }
}

TEST_CASE("random_normal is one element of fill_normal") {
  std::vector<double> all(9);
  ops::fill_normal(std::span<double>(all), types::random_key{.seed = 4, .step = 7}, 3);
  for (std::size_t i = 0; i < all.size(); ++i)
    CHECK(ops::random_normal<double>(types::random_key{.seed = 4, .step = 7}, 3 + i) == all[i]);
}

TEST_CASE("normal_quantile is the inverse of the normal distribution") {
  for (int i = 10; i <= 990; ++i) {
    const double p = i / 1000.0, x = detail::normal_quantile(p);
    CHECK(std::abs(0.5 * std::erfc(-x / std::sqrt(2.0)) - p) < 1e-15);
    CHECK(std::abs(detail::normal_quantile(1 - p) + x) < 1e-13);
  }
}

TEST_CASE("a truncated normal number is a normal one that is not beyond 2") {
  constexpr std::size_t count = 100000;
  double sums[5] = {};
  int beyond_one = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = ops::random_truncated_normal<double>(types::random_key{.seed = 3}, i);
    if (!(std::abs(x) <= 2)) FAIL(x);
    for (int power = 1; power < 5; ++power) sums[power] += std::pow(x, power) / count;
    beyond_one += std::abs(x) > 1 ? 1 : 0;
  }
  // With the density p and the remaining probability Z = 0.9545, the variance is 1 - 2 * 2 p(2) / Z, and so on.
  CHECK(std::abs(sums[1]) < 0.012); // each bound is more than four standard deviations
  CHECK(std::abs(sums[2] - 0.773741) < 0.012);
  CHECK(std::abs(sums[3]) < 0.03);
  CHECK(std::abs(sums[4] - 1.416) < 0.03);
  CHECK(std::abs(beyond_one / double{count} - 0.284797) < 0.006);
  CHECK(ops::random_truncated_normal<float>(types::random_key{.seed = 3}, 77) ==
        static_cast<float>(ops::random_truncated_normal<double>(types::random_key{.seed = 3}, 77)));
}

} // namespace random_normal_tests
