// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <cairn/data/random_normal.hpp>

using namespace cairn;

TEST_CASE("fill_normal has the moments and the tails of a normal distribution") {
  std::vector<double> numbers(100000);
  fill_normal(std::span<double>(numbers), random_key{.seed = 1});
  double sums[5] = {};
  int beyond_two = 0;
  for (const double x : numbers) {
    for (int power = 1; power < 5; ++power) sums[power] += std::pow(x, power);
    beyond_two += std::abs(x) > 2 ? 1 : 0;
  }
  const auto count = static_cast<double>(numbers.size());
  CHECK(std::abs(sums[1] / count) < 0.015); // each bound is above four standard deviations
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
  fill_normal(std::span<float>(all), random_key{.seed = 4, .position = 2});
  for (std::size_t first = 0; first < all.size(); ++first)
    for (std::size_t count = 0; first + count <= all.size(); ++count) {
      std::vector<float> some(count);
      fill_normal(std::span<float>(some), random_key{.seed = 4, .position = 2}, first);
      for (std::size_t i = 0; i < count; ++i) CHECK(some[i] == all[first + i]);
    }
}
