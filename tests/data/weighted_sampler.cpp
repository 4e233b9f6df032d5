// SPDX-License-Identifier: MIT
#include <cairn/data/weighted_sampler.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <cairn/core/batch.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <doctest/doctest.h>

#include "spot.hpp"

namespace weighted_sampler_tests {

using namespace cairn;
using samplers::weighted;

using testing::spot;

namespace {

std::vector<std::size_t> order_of(const weighted& which, std::size_t samples, std::uint64_t epoch = 0) {
  std::vector<std::size_t> indices{7};
  which.order(samples, epoch, indices);
  CHECK(indices.size() == which.count(samples));
  return indices;
}

} // namespace

TEST_CASE("weighted: samples come as often as their weights say, and those without one never") {
  const std::vector<double> weights{0, 1, 3, 0, 4, 0};
  constexpr std::size_t draws = 80000;
  std::vector<double> counts(weights.size());
  for (const std::size_t i : order_of(weighted{weights, {.seed = 5, .draws = draws}}, weights.size())) ++counts[i];
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double share = weights[i] / 8;
    CHECK(std::abs(counts[i] - draws * share) <= 4 * std::sqrt(draws * share * (1 - share)));
  }
}

TEST_CASE("weighted: an epoch is a function of its seed and number") {
  const std::vector<float> weights(100, 0.5F);
  const weighted order{weights, {.seed = 2}};
  CHECK(order.count(100) == 100);
  CHECK(order_of(order, 100, 3) == order_of(weighted{weights, {.seed = 2}}, 100, 3));
  CHECK(order_of(order, 100, 3) != order_of(order, 100, 4));
  CHECK(order_of(order, 100, 3) != order_of(weighted{weights, {.seed = 3}}, 100, 3));
}

TEST_CASE("weighted: step k of all ranks reads what step k of one rank reads") {
  std::vector<double> weights;
  for (std::size_t i = 0; i < 37; ++i) weights.push_back(static_cast<double>(i % 5));
  const std::vector<std::size_t> all = order_of(weighted{weights, {.seed = 1, .draws = 120}}, 37, 2);
  for (const int ranks : {2, 3, 7}) {
    const std::size_t each = (37 + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto own = order_of(weighted{spot{rank, ranks}, weights, {.seed = 1}}, 37, 2);
      CHECK(own.size() == each);
      for (std::size_t k = 0; k < own.size(); ++k)
        CHECK(own[k] == all[k * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(rank)]);
    }
  }
}

TEST_CASE("weighted: with balanced weights a loader reads all classes equally often") {
  std::vector<float> inputs;
  std::vector<int> targets;
  for (std::size_t i = 0; i < 3000; ++i) {
    inputs.push_back(static_cast<float>(i));
    targets.push_back(i % 100 == 0 ? 7 : i % 10 == 1 ? -2 : 0); // 1, 10 and 89 percent
  }
  const std::vector<double> weights = samplers::balanced(targets);
  CHECK(weights[0] == 1.0 / 30);
  CHECK(weights[1] == 1.0 / 300);
  CHECK(weights[2] == 1.0 / 2670);
  const tensor_dataset data{shape{1}, inputs, 1, targets};
  std::size_t rare = 0, common = 0, all = 0;
  for (const auto& one : loader{data, weighted{weights, {.seed = 9}}, batch<50>{}})
    for (const int target : one.targets) {
      ++all;
      rare += target == 7 ? 1 : 0;
      common += target == 0 ? 1 : 0;
    }
  CHECK(all == 3000);
  CHECK(std::abs(static_cast<double>(rare) - 1000) < 110); // four standard deviations
  CHECK(std::abs(static_cast<double>(common) - 1000) < 110);
}

TEST_CASE("weighted: weights that are none are errors that name the sample") {
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH_AS(weighted(std::vector<double>{1, -2}),
                       "weighted: expected weights of 0 or more, found -2.000000 for sample 1", input_error);
  CHECK_THROWS_AS(weighted(std::vector<double>{infinite}), input_error);
  CHECK_THROWS_AS(weighted(std::vector<double>{std::numeric_limits<double>::quiet_NaN()}), input_error);
  CHECK_THROWS_AS(weighted(std::vector<double>{1e308, 1e308}), input_error);
  CHECK_THROWS_WITH_AS(weighted(std::vector<double>{0, 0}), doctest::Contains("a finite sum above 0, found 0"), input_error);
  CHECK_THROWS_AS(weighted(std::vector<double>{}), input_error);
  CHECK_THROWS_WITH_AS(order_of(weighted{std::vector<int>{1, 1}}, 3),
                       "weighted: expected a weight for each of the 3 samples, found 2", input_error);
  CHECK_THROWS_AS(weighted(spot{2, 2}, std::vector<int>{1}), input_error);
}

} // namespace weighted_sampler_tests
