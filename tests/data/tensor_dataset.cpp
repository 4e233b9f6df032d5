// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <vector>

#include <cairn/data/dataset.hpp>
#include <cairn/data/tensor_dataset.hpp>

using namespace cairn;

static_assert(dataset<tensor_dataset<float, int>>);
static_assert(dataset<view_dataset<double, double>>);

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

TEST_CASE("tensor_dataset throws for lengths that do not fit each other") {
  using set = tensor_dataset<float, int>;
  CHECK_THROWS_WITH_AS(set(shape{2}, {1, 2, 3}, 1, {1}),
                       doctest::Contains("expected whole samples of 2 numbers, found 3"), input_error);
  CHECK_THROWS_WITH_AS(set(shape{2}, {1, 2, 3, 4}, 1, {1}),
                       doctest::Contains("expected 1 targets for each of 2 samples, found 1"), input_error);
  CHECK_THROWS_AS(set(shape{0}, {}, 1, {}), input_error);
}

TEST_CASE("view_dataset reads the user's memory without a copy") {
  std::vector<float> inputs{1, 2, 3, 4};
  std::vector<int> targets{7, 8};
  const view_dataset data(tensor_view<float>(inputs.data(), 2, shape{2}),
                          tensor_view<const int>(targets.data(), 2, shape{}));
  CHECK(data.inputs().data() == inputs.data());
  CHECK(data.size() == 2);
  CHECK(data.targets_per_sample() == 1);
  inputs[3] = 40; // seen, as nothing was copied
  std::array<float, 2> input{};
  std::array<int, 1> target{};
  data.read(1, input, target);
  CHECK(input == std::array<float, 2>{3, 40});
  CHECK(target[0] == 8);
}

TEST_CASE("view_dataset throws where inputs and targets differ in rows") {
  float input = 0;
  int target = 0;
  CHECK_THROWS_WITH_AS(
      (view_dataset(tensor_view<float>(&input, 1, shape{}), tensor_view<int>(&target, 0, shape{}))),
      doctest::Contains("each of the 1 inputs, found 0"), input_error);
}
