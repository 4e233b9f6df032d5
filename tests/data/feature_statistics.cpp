// SPDX-License-Identifier: MIT
#include <cairn/data/feature_statistics.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <cairn/core/random.hpp>
#include <cairn/core/random_normal.hpp>
#include <cairn/data/csv/csv.hpp>
#include <cairn/data/image_dataset.hpp>
#include <cairn/data/subset.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <doctest/doctest.h>

#include "../reference/differences.hpp"
#include "../reference/values.hpp"

namespace feature_statistics_tests {

using namespace cairn;

namespace {

constexpr std::size_t features = 4, samples = 1000;

// Features that are far from 0, near it, large and the same everywhere.
template <class T>
std::vector<T> some_numbers() {
  std::vector<T> x(samples * features);
  ops::fill_normal(std::span<T>(x), types::random_key{.seed = 3});
  for (std::size_t i = 0; i < samples; ++i) {
    T* const row = x.data() + i * features;
    row[0] = row[0] * T(0.25) + T(4096);
    row[2] *= T(1e6);
    row[3] = T(0.1);
  }
  return x;
}
template <class T>
auto data_of(std::vector<T> x, shape each) {
  std::vector<std::int32_t> targets(x.size() / each.size());
  return tensor_dataset{sample_array<T>{each, std::move(x)}, sample_array<std::int32_t>{shape{}, std::move(targets)}};
}

} // namespace

TEST_CASE_TEMPLATE("feature_statistics: two passes in long double find the same", T, float, double) {
  const std::vector<T> x = some_numbers<T>();
  const auto found = preprocess::statistics_of(data_of(x, {features}));
  CHECK(found.rows == samples);
  REQUIRE(found.mean.size() == features);
  REQUIRE(found.deviation.size() == features);
  for (std::size_t j = 0; j < features; ++j) {
    long double mean = 0, squares = 0;
    for (std::size_t i = 0; i < samples; ++i) mean += static_cast<long double>(x[i * features + j]) / samples;
    for (std::size_t i = 0; i < samples; ++i) {
      const long double distance = static_cast<long double>(x[i * features + j]) - mean;
      squares += distance * distance / samples;
    }
    CAPTURE(j);
    CHECK(std::abs(found.mean[j] - static_cast<double>(mean)) <=
          1e-12 * static_cast<double>(std::sqrt(squares)) + 1e-15 * std::abs(found.mean[j]));
    if (j < 3) CHECK(found.deviation[j] == doctest::Approx(static_cast<double>(std::sqrt(squares))).epsilon(1e-12));
  }
  CHECK(found.mean[3] == static_cast<double>(T(0.1)));
  CHECK(found.deviation[3] == 1); // the same number everywhere
}

TEST_CASE("feature_statistics: PyTorch's numbers") {
  const auto found = preprocess::statistics_of(data_of(reference_numbers<double>("standardize/rows"), {7}));
  CHECK(largest_difference(found.mean, reference_values("standardize/mean")) < 1e-14);
  CHECK(largest_difference(found.deviation, reference_values("standardize/std")) < 1e-14);
}

TEST_CASE("feature_statistics: a single row, a part of the samples, and an input of one number") {
  const auto whole = data_of<double>({1, 10, 3, 30, 5, 20}, {2});
  const auto one = preprocess::statistics_of(subset(whole, {1}));
  CHECK(one.mean == std::vector<double>{3, 30});
  CHECK(one.deviation == std::vector<double>{1, 1});
  const subset two(whole, {0, 1});
  CHECK(preprocess::statistics_of(two).mean == std::vector<double>{2, 20});
  CHECK(preprocess::statistics_of(two).deviation == std::vector<double>{1, 10}); // divided by 2, not by 1
  CHECK(preprocess::statistics_of(data_of<float>({1, 2, 6}, {})).mean == std::vector<double>{3});
}

TEST_CASE("feature_statistics: each pixel of an image is a row of its channels") {
  const auto found = preprocess::statistics_of(data_of<float>({1, 10, 3, 20, 5, 10, 7, 20}, {2, 1, 2})); // two images
  CHECK(found.rows == 4);
  CHECK(found.mean == std::vector<double>{4, 15});
  CHECK(found.deviation == std::vector<double>{std::sqrt(5.0), 5});
}

TEST_CASE("feature_statistics: of one of several inputs, and of the columns of a table") {
  const tensor_dataset several{sample_array{shape{1}, std::vector<std::int32_t>{1, 2}},
                               sample_array{shape{2}, std::vector<float>{1, 2, 3, 6}},
                               sample_array{shape{}, std::vector<std::int32_t>{0, 1}}};
  CHECK(preprocess::statistics_of<1>(several).mean == std::vector<double>{2, 4});
  CHECK(preprocess::statistics_of<1>(several).deviation == std::vector<double>{1, 2});

  const auto table = files::parse_csv("rooms,area,price\n3,80,1\n5,120,2\n");
  const tensor_dataset houses{sample_array{shape{2}, table.numbers({"rooms", "area"})},
                              sample_array{shape{1}, table.numbers({"price"})}};
  CHECK(preprocess::statistics_of(houses).mean == std::vector<double>{4, 100});
}

TEST_CASE("feature_statistics: numbers that are not finite, none, and those too large are an error") {
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    auto x = some_numbers<float>();
    x[17 * features + 2] = wrong;
    CHECK_THROWS_WITH_AS(preprocess::statistics_of(data_of(x, {features})),
                         doctest::Contains(("found " + std::to_string(wrong) + " in feature 2 of sample 17").c_str()),
                         input_error);
  }
  CHECK_THROWS_WITH_AS(preprocess::statistics_of(data_of<float>({}, {3})), doctest::Contains("found a dataset without any"),
                       input_error);
  CHECK_THROWS_WITH_AS(preprocess::statistics_of(data_of<double>({0, 1e200, 0, -1e200}, {2})),
                       doctest::Contains("found larger ones in feature 1"), input_error);
}

} // namespace feature_statistics_tests
