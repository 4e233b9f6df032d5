// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <span>
#include <type_traits>
#include <vector>

#include <cairn/data/dataset.hpp>
#include <cairn/data/subset.hpp>
#include <cairn/data/tensor_dataset.hpp>

namespace subset_tests {

using namespace cairn;

namespace {

using tens = tensor_dataset<float, int>;
tens ten_samples() { return tens(shape{1}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, {0, 10, 20, 30, 40, 50, 60, 70, 80, 90}); }

template <class Dataset>
int target_of(const Dataset& samples, std::size_t index) {
  std::array<float, 1> input{};
  std::array<int, 1> target{};
  samples.read(index, std::span<float>(input), std::span<int>(target));
  CHECK(target[0] == 10 * static_cast<int>(input[0]));
  return target[0];
}

} // namespace

static_assert(dataset<subset<tens>>);
static_assert(dataset<subset<subset<tens>>>);
static_assert(dataset<subset<tensor_dataset<float, float, int>>>);

TEST_CASE("a subset reads the samples that it names, in their order") {
  const auto whole = ten_samples();
  const subset some{whole, {7, 2, 2}};
  CHECK(some.size() == 3);
  CHECK(some.sample_shape() == shape{1});
  CHECK(some.targets_per_sample() == 1);
  CHECK(target_of(some, 0) == 70);
  CHECK(target_of(some, 1) == 20);
  CHECK(target_of(some, 2) == 20);
  CHECK(&some.whole() == &whole);
  const subset fewer{some, {1}};
  CHECK(target_of(fewer, 0) == 20);
  CHECK(subset{whole, {}}.size() == 0);
}

TEST_CASE("a subset of samples with several inputs passes all of them on") {
  const tensor_dataset whole{sample_array{shape{1}, std::vector<float>{1, 2}}, sample_array{shape{}, std::vector<int>{3, 4}},
                             sample_array{shape{}, std::vector<int>{5, 6}}};
  const subset second{whole, {1}};
  CHECK(second.sample_shapes() == whole.sample_shapes());
  std::array<float, 1> first{};
  std::array<int, 1> token{}, target{};
  second.read(0, std::span<float>(first), std::span<int>(token), std::span<int>(target));
  CHECK(first[0] == 2);
  CHECK(token[0] == 4);
  CHECK(target[0] == 6);
}

TEST_CASE("a subset refuses what its dataset does not have, and a temporary dataset") {
  const auto whole = ten_samples();
  CHECK_THROWS_WITH_AS((subset{whole, {9, 10}}), doctest::Contains("below the 10 samples of the dataset, found 10"), input_error);
  static_assert(std::is_constructible_v<subset<tens>, const tens&, std::vector<std::size_t>>);
  static_assert(!std::is_constructible_v<subset<tens>, tens, std::vector<std::size_t>>);
}

} // namespace subset_tests
