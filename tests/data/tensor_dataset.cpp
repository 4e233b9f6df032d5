// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/data/dataset.hpp>
#include <cairn/data/tensor_dataset.hpp>

namespace tensor_dataset_tests {

using namespace cairn;

static_assert(dataset<tensor_dataset<float, int>>);
static_assert(dataset<view_dataset<double, double>>);
static_assert(dataset<tensor_dataset<float, int, std::int64_t>>);
static_assert(dataset<view_dataset<float, float, double, int>>);

TEST_CASE("tensor_dataset gives back the rows that it was given") {
  const tensor_dataset<float, double> data(shape{2}, {1, 2, 3, 4, 5, 6}, 1, {10, 20, 30});
  CHECK(data.size() == 3);
  CHECK(data.sample_shape() == shape{2});
  CHECK(data.targets_per_sample() == 1);
  std::array<float, 2> input{};
  std::array<double, 1> target{};
  data.read(2, input, target);
  CHECK(input == std::array<float, 2>{5, 6});
  CHECK(target[0] == 30);
  CHECK(data.inputs().rows() == 3);
  CHECK(data.targets()[1] == 20);
}

TEST_CASE("tensor_dataset finds its types from what it is given") {
  const std::vector<float> inputs{1, 2, 3, 4, 5, 6};
  const std::vector<int> labels{0, 1, 2};
  const tensor_dataset data(shape{2}, inputs, 1, labels);
  static_assert(std::is_same_v<decltype(data), const tensor_dataset<float, int>>);
  CHECK(data.size() == 3);
  CHECK(data.targets()[2] == 2);
}

TEST_CASE("tensor_dataset throws for lengths that do not fit each other") {
  using set = tensor_dataset<float, int>;
  CHECK_THROWS_WITH_AS(set(shape{2}, {1, 2, 3}, 1, {1}), doctest::Contains("expected whole samples of 2 numbers, found 3"),
                       input_error);
  CHECK_THROWS_WITH_AS(set(shape{2}, {1, 2, 3, 4}, 1, {1}),
                       doctest::Contains("expected 1 targets for each of 2 samples, found 1"), input_error);
  CHECK_THROWS_AS(set(shape{0}, {}, 1, {}), input_error);
}

TEST_CASE("view_dataset reads the user's memory without a copy") {
  std::vector<float> inputs{1, 2, 3, 4};
  std::vector<int> targets{7, 8};
  const view_dataset data(tensor_view<float>(inputs.data(), 2, shape{2}), tensor_view<const int>(targets.data(), 2, shape{}));
  CHECK(data.inputs().data() == inputs.data());
  CHECK(data.size() == 2);
  CHECK(data.targets_per_sample() == 1);
  inputs[3] = 40; // visible, as nothing was copied
  std::array<float, 2> input{};
  std::array<int, 1> target{};
  data.read(1, input, target);
  CHECK(input == std::array<float, 2>{3, 40});
  CHECK(target[0] == 8);
}

TEST_CASE("view_dataset throws where inputs and targets differ in rows") {
  float input = 0;
  int target = 0;
  CHECK_THROWS_WITH_AS((view_dataset(tensor_view<float>(&input, 1, shape{}), tensor_view<int>(&target, 0, shape{}))),
                       doctest::Contains("each of the 1 inputs, found 0"), input_error);
}

TEST_CASE("tensor_dataset and view_dataset of several inputs give a sample's row of each") {
  const tensor_dataset data{sample_array{shape{2}, std::vector<float>{1, 2, 3, 4}},
                            sample_array{shape{1, 1}, std::vector<int>{5, 6}}, sample_array{shape{}, std::vector<double>{7, 8}}};
  static_assert(std::is_same_v<decltype(data), const tensor_dataset<float, int, double>>);
  CHECK(data.sample_shapes() == std::array{shape{2}, shape{1, 1}});
  const view_dataset same{data.inputs<0>(), data.inputs<1>(), data.targets()};
  CHECK(same.sample_shapes() == data.sample_shapes());
  const auto check = [](const auto& samples) {
    CHECK(samples.size() == 2);
    CHECK(samples.targets_per_sample() == 1);
    std::array<float, 2> numbers{};
    std::array<int, 1> token{};
    std::array<double, 1> target{};
    samples.read(1, std::span<float>(numbers), std::span<int>(token), std::span<double>(target));
    CHECK(numbers == std::array<float, 2>{3, 4});
    CHECK(token[0] == 6);
    CHECK(target[0] == 8);
  };
  check(data);
  check(same);
}

TEST_CASE("tensor_dataset and view_dataset name the input whose length does not fit") {
  const auto of = [](std::vector<float> first, std::vector<int> second, std::vector<int> targets) {
    return tensor_dataset{sample_array{shape{2}, std::move(first)}, sample_array{shape{2}, std::move(second)},
                          sample_array{shape{}, std::move(targets)}};
  };
  CHECK(of({1, 2}, {3, 4}, {5}).size() == 1);
  CHECK_THROWS_WITH_AS(of({1, 2}, {3, 4, 5, 6}, {5}),
                       doctest::Contains("expected 2 numbers of input 1 for each of 1 samples, found 4 numbers"), input_error);
  CHECK_THROWS_WITH_AS(of({1, 2}, {3}, {5}), doctest::Contains("whole samples of 2 numbers, found 1"), input_error);
  CHECK_THROWS_WITH_AS(of({1, 2}, {3, 4}, {5, 6}), doctest::Contains("expected 1 targets for each of 1 samples, found 2"),
                       input_error);
  float number = 0;
  const tensor_view<float> one(&number, 1, shape{}), none(&number, 0, shape{});
  CHECK_THROWS_WITH_AS((view_dataset{one, none, one}), doctest::Contains("one row of input 1 for each of the 1 inputs, found 0"),
                       input_error);
}

TEST_CASE("tensor_dataset: one that was moved from has no samples") {
  tensor_dataset<float, int> data(shape{2}, {1, 2, 3, 4}, 1, {5, 6});
  auto to = std::move(data);
  CHECK(to.size() == 2);
  CHECK(data.size() == 0); // NOLINT(bugprone-use-after-move)
  CHECK(data.inputs().rows() == 0);
  CHECK(data.targets().rows() == 0);
  data = std::move(to);
  CHECK(to.size() == 0); // NOLINT(bugprone-use-after-move)
  CHECK(data.size() == 2);
  std::array<float, 2> input{};
  std::array<int, 1> target{};
  data.read(1, std::span<float>(input), std::span<int>(target));
  CHECK(input == std::array<float, 2>{3, 4});
}

} // namespace tensor_dataset_tests
