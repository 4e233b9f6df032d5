// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <set>
#include <vector>

#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/random_split.hpp>
#include <cairn/data/tensor_dataset.hpp>

namespace random_split_tests {

using namespace cairn;

namespace {

tensor_dataset<float, int> samples(std::size_t count) {
  return {shape{1}, std::vector<float>(count), 1, std::vector<int>(count)};
}

template <class Parts>
std::vector<std::size_t> sizes(const Parts& parts) {
  std::vector<std::size_t> out;
  for (const auto& part : parts) out.push_back(part.size());
  return out;
}

using lengths = std::vector<std::size_t>;

} // namespace

TEST_CASE("random_split gives each sample to one part") {
  const auto data = samples(100);
  const auto parts = random_split(data, {70, 0, 30}, seed{3});
  CHECK(sizes(parts) == lengths{70, 0, 30});
  std::set<std::size_t> seen;
  for (const auto& part : parts) seen.insert(part.indices().begin(), part.indices().end());
  CHECK(seen.size() == 100);
  const auto [train, validation] = random_split(data, {data.size() - 10, 10});
  CHECK(train.size() == 90);
  CHECK(&validation.whole() == &data);
}

TEST_CASE("random_split is the same for a seed, and not the order in which an epoch is read") {
  const auto data = samples(100);
  const auto first = random_split(data, {50, 50}, seed{3})[0].indices();
  CHECK(first == random_split(data, {0.5, 0.5}, seed{3})[0].indices());
  CHECK(first != random_split(data, {50, 50}, seed{4})[0].indices());
  std::vector<std::size_t> read;
  sampler{{.seed = 3}}.order(100, 0, read);
  read.resize(50);
  CHECK(first != read);
}

TEST_CASE("random_split takes shares, and what they leave over goes to the first parts") {
  const auto data = samples(11);
  CHECK(sizes(random_split(data, {0.9, 0.1})) == lengths{10, 1});
  CHECK(sizes(random_split(data, {0.5, 0.3, 0.2})) == lengths{6, 3, 2});
  CHECK(sizes(random_split(data, {0.9F, 0.1F})) == lengths{10, 1});
  const auto thirds = samples(5);
  CHECK(sizes(random_split(thirds, {1 / 3.0, 1 / 3.0, 1 / 3.0})) == lengths{2, 2, 1});
}

TEST_CASE("random_split refuses lengths and shares that are not those of the dataset") {
  const auto data = samples(10);
  CHECK_THROWS_WITH_AS(random_split(data, {5, 4}), doctest::Contains("the 10 samples of the dataset, found 9"), input_error);
  CHECK_THROWS_WITH_AS(random_split(data, {5, 6}), doctest::Contains("found more"), input_error);
  CHECK_THROWS_WITH_AS(random_split(data, {~std::size_t{0}, std::size_t{11}}), doctest::Contains("found more"), input_error);
  CHECK_THROWS_WITH_AS(random_split(data, {11, -1}), doctest::Contains("a length of 0 or more, found -1"), input_error);
  CHECK_THROWS_WITH_AS(random_split(data, {0.5, 0.4}), doctest::Contains("shares whose sum is 1, found 0.9"), input_error);
  CHECK_THROWS_WITH_AS(random_split(data, {1.5, -0.5}), doctest::Contains("found 1.5"), input_error);
}

} // namespace random_split_tests
