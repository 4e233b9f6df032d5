// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/data/dataset.hpp>
#include <cairn/data/image_dataset.hpp>

namespace image_dataset_tests {

using namespace cairn;

static_assert(dataset<vision::image_dataset<float>>);
static_assert(dataset<vision::image_dataset<double>>);

TEST_CASE_TEMPLATE("image_dataset turns bytes into scaled numbers when it is read", T, float, double) {
  const vision::image_dataset<T> data(shape{1, 2, 1}, {0, 255, 51, 102}, {3, 9}, {.mean = 0.25, .deviation = 0.5});
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
  const vision::image_dataset<float> data(shape{2}, {0, 255}, {0});
  std::array<float, 2> input{};
  std::array<std::int32_t, 1> label{};
  data.read(0, input, label);
  CHECK(input == std::array<float, 2>{0, 1});
}

TEST_CASE_TEMPLATE("image_dataset scales each channel in its own way", T, float, double) {
  const std::array<vision::pixel_scale, 3> three{vision::pixel_scale{0.25, 0.5}, vision::pixel_scale{0.5, 0.25},
                                                 vision::pixel_scale{0, 2}};
  const vision::image_dataset<T> data(shape{1, 2, 3}, {0, 51, 102, 153, 204, 255}, {1}, three);
  std::array<T, 6> input{};
  std::array<std::int32_t, 1> label{};
  data.read(0, input, label);
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(input[i] == static_cast<T>((static_cast<double>(i * 51) / 255 - three[i % 3].mean) / three[i % 3].deviation));
  CHECK(data.black() == vision::pixel_value{-0.5, -2, 0});

  const std::array<vision::pixel_scale, 2> two{vision::pixel_scale{0, 1}, vision::pixel_scale{0, 0.5}};
  const vision::image_dataset<T> pairs(shape{2, 2}, {0, 255, 255, 0}, {1}, two);
  std::array<T, 4> numbers{};
  pairs.read(0, numbers, label);
  CHECK(numbers == std::array<T, 4>{0, 2, 1, 0});
  const std::array<vision::pixel_scale, 1> one{vision::pixel_scale{0, 0.5}};
  const vision::image_dataset<T> grey(shape{2}, {0, 255}, {1}, one);
  CHECK(grey.black() == vision::pixel_value(0));
}

TEST_CASE("image_dataset throws for scales that do not fit the channels") {
  using set = vision::image_dataset<float>;
  const std::array<vision::pixel_scale, 3> three{};
  CHECK_THROWS_WITH_AS(set(shape{3, 2}, {1, 2, 3, 4, 5, 6}, {0}, three),
                       doctest::Contains("expected images of 3 channels, one for each scale, found 2 as the last extent"),
                       input_error);
  CHECK_THROWS_AS(set(shape{}, {1}, {0}, three), input_error);
  const std::array<vision::pixel_scale, 2> wrong{vision::pixel_scale{}, vision::pixel_scale{.mean = 0, .deviation = -1}};
  CHECK_THROWS_WITH_AS(set(shape{2}, {1, 2}, {0}, wrong), doctest::Contains("positive deviation"), input_error);
}

TEST_CASE("image_dataset throws for pixels that do not fit the labels") {
  using set = vision::image_dataset<float>;
  CHECK_THROWS_WITH_AS(set(shape{2}, {1, 2, 3}, {0}), doctest::Contains("expected 2 pixels for each of 1 labels, found 3"),
                       input_error);
  CHECK_THROWS_AS(set(shape{2}, {1, 2}, {0, 1}), input_error);
  CHECK_THROWS_AS(set(shape{0}, {}, {}), input_error);
  CHECK_THROWS_WITH_AS(set(shape{1}, {1}, {0}, {.mean = 0, .deviation = 0}), doctest::Contains("positive deviation"),
                       input_error);
}

} // namespace image_dataset_tests
