// SPDX-License-Identifier: MIT
#include <cairn/data/target_transform.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <cairn/data/loader.hpp>
#include <cairn/data/random_split.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/subset.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <doctest/doctest.h>

namespace target_transform_tests {

using namespace cairn;

namespace {

struct digits {
  std::vector<float> x;
  std::vector<std::uint8_t> y;
  digits() : x(20), y(10) {
    for (std::size_t i = 0; i < 10; ++i) x[2 * i] = static_cast<float>(i), y[i] = static_cast<std::uint8_t>(i);
  }
};
constexpr auto minus_five = [](int label) { return label - 5; };

} // namespace

TEST_CASE("target_transform: labels 5 ... 9 become 0 ... 4, whatever reads them") {
  const digits d;
  const tensor_dataset whole{sample_array{shape{2}, d.x}, sample_array{shape{}, d.y}};
  const subset letters(whole, {5, 6, 7, 8, 9});
  const target_transform from_zero{letters, minus_five};
  static_assert(dataset<std::remove_cvref_t<decltype(from_zero)>>);
  static_assert(std::is_same_v<decltype(from_zero)::target_type, int>); // a byte minus 5 is an int
  CHECK(from_zero.size() == 5);
  CHECK(from_zero.targets_per_sample() == 1);
  CHECK(from_zero.sample_shape() == shape{2});
  std::vector<int> labels;
  std::vector<float> inputs;
  for (const auto& [x, y] : loader{from_zero, sequential_sampler{}, batch<2>{}}) {
    labels.insert(labels.end(), y.begin(), y.end());
    for (std::size_t row = 0; row < x.rows(); ++row) inputs.push_back(x.row(row)[0]);
  }
  CHECK(labels == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(inputs == std::vector<float>{5, 6, 7, 8, 9}); // inputs are unchanged
  const auto parts = random_split(from_zero, {0.6, 0.4}, seed{1});
  CHECK(parts[0].size() + parts[1].size() == 5);
}

TEST_CASE("target_transform: of a type that stays, of many targets, and of several inputs") {
  std::vector<float> x(6, 1), mask(6, 2), y(300);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i);
  const tensor_dataset several{sample_array{shape{2}, x}, sample_array{shape{2}, mask}, sample_array{shape{100}, y}};
  const target_transform halved{several, [](float t) { return t / 2; }};
  static_assert(std::is_same_v<decltype(halved)::target_type, float>);
  CHECK(halved.sample_shapes()[1] == shape{2});
  std::vector<float> first(2), second(2), targets(100);
  halved.read(2, std::span<float>(first), std::span<float>(second), std::span<float>(targets));
  CHECK(first[0] == 1);
  CHECK(second[0] == 2);
  CHECK(targets[99] == 299.0F / 2);
  const target_transform rounded{several, [](float t) { return static_cast<std::int64_t>(t) % 7; }};
  std::vector<std::int64_t> classes(100);
  rounded.read(2, std::span<float>(first), std::span<float>(second), std::span<std::int64_t>(classes));
  CHECK(classes[99] == 299 % 7);
}

TEST_CASE("target_transform: what the function throws comes out of the loader") {
  const digits d;
  const tensor_dataset whole{sample_array{shape{2}, d.x}, sample_array{shape{}, d.y}};
  const target_transform strict{whole, [](int label) {
                                  if (label > 3) throw std::runtime_error("no such class");
                                  return label;
                                }};
  loader batches{strict, sequential_sampler{}, batch<4>{}};
  const auto read_all = [&] {
    for (const auto& [inputs, targets] : batches) static_cast<void>(inputs), static_cast<void>(targets);
  };
  CHECK_THROWS_WITH_AS(read_all(), "no such class", std::runtime_error);
}

} // namespace target_transform_tests
