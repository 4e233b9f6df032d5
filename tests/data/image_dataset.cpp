// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include <cairn/data/dataset.hpp>
#include <cairn/data/image_dataset.hpp>

using namespace cairn;

static_assert(dataset<image_dataset<float>>);
static_assert(dataset<image_dataset<double>>);

TEST_CASE_TEMPLATE("image_dataset turns bytes into scaled numbers when it is read", T, float, double) {
  const image_dataset<T> data(shape{1, 2, 1}, {0, 255, 51, 102}, {3, 9}, {.mean = 0.25, .deviation = 0.5});
  std::array<T, 2> input{};
  std::array<std::int32_t, 1> label{};
  data.read(0, input, label);
  CHECK(input[0] == static_cast<T>((0.0 - 0.25) / 0.5));
  CHECK(input[1] == static_cast<T>((1.0 - 0.25) / 0.5));
  CHECK(label[0] == 3);
  data.read(1, input, label);
  CHECK(input[0] == static_cast<T>((51 / 255.0 - 0.25) / 0.5));
  CHECK(label[0] == 9);
  CHECK(data.black() == static_cast<T>(-0.5));
}

TEST_CASE("image_dataset scales to 0 ... 1 where nothing else is said") {
  const image_dataset<float> data(shape{2}, {0, 255}, {0});
  std::array<float, 2> input{};
  std::array<std::int32_t, 1> label{};
  data.read(0, input, label);
  CHECK(input == std::array<float, 2>{0, 1});
}

TEST_CASE("image_dataset throws for pixels that do not fit the labels") {
  using set = image_dataset<float>;
  CHECK_THROWS_WITH_AS(set(shape{2}, {1, 2, 3}, {0}), doctest::Contains("expected 2 pixels for each of 1 labels, found 3"),
                       input_error);
  CHECK_THROWS_AS(set(shape{2}, {1, 2}, {0, 1}), input_error);
  CHECK_THROWS_AS(set(shape{0}, {}, {}), input_error);
  CHECK_THROWS_WITH_AS(set(shape{1}, {1}, {0}, {.mean = 0, .deviation = 0}), doctest::Contains("positive deviation"),
                       input_error);
}
