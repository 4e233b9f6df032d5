// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <cairn/data/random_crop.hpp>
#include <cairn/data/transform.hpp>

namespace random_crop_tests {

using namespace cairn;
using namespace cairn::detail;

static_assert(sample_transform<random_crop, float> && sample_transform<random_crop, double>);

namespace {

// Crops by the definition: adds a margin of fill pixels, then takes the part of the image's extents from (top, left) on.
std::vector<float> cropped(const std::vector<float>& image, const shape& extents, std::size_t padding, std::size_t top,
                           std::size_t left, const std::vector<float>& fill) {
  const std::size_t height = extents[0], width = extents[1], channels = extents[2];
  const std::size_t line = width + 2 * padding;
  std::vector<float> padded;
  for (std::size_t i = 0; i < (height + 2 * padding) * line; ++i) padded.insert(padded.end(), fill.begin(), fill.end());
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t i = 0; i < width * channels; ++i)
      padded[((y + padding) * line + padding) * channels + i] = image[y * width * channels + i];
  std::vector<float> part;
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t i = 0; i < width * channels; ++i) part.push_back(padded[((top + y) * line + left) * channels + i]);
  return part;
}

} // namespace

TEST_CASE("random_crop cuts out at every place that there is, equally often, and at no other") {
  const shape extents{4, 5, 3};
  const std::vector<float> fill{-1, -2, -3};
  std::vector<float> image(extents.size());
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i + 1);
  std::map<std::vector<float>, int> seen;
  for (std::uint64_t round = 0; round < 2500; ++round) {
    auto copy = image;
    random_crop{.padding = 2, .fill = {-1, -2, -3}}(std::span<float>(copy), extents, sample_key(3, round, 2));
    ++seen[copy];
  }
  CHECK(seen.size() == 25);
  for (std::size_t top = 0; top <= 4; ++top)
    for (std::size_t left = 0; left <= 4; ++left) {
      const int times = seen[cropped(image, extents, 2, top, left, fill)];
      CHECK(times > 50); // 100 expected, with a standard deviation of 10
      CHECK(times < 150);
    }
}

TEST_CASE("random_crop depends on its key alone, and without a margin changes nothing") {
  const shape extents{3, 3};
  const std::vector<double> image{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const random_key key = sample_key(1, 2, 3);
  auto first = image, second = image, still = image;
  random_crop{}(std::span<double>(first), extents, key);
  random_crop{}(std::span<double>(second), extents, key);
  random_crop{.padding = 0}(std::span<double>(still), extents, key);
  CHECK(first == second);
  CHECK(still == image);
}

TEST_CASE("random_crop throws for what is no image, and for a fill of other channels") {
  std::vector<float> numbers(12);
  CHECK_THROWS_WITH_AS(random_crop{}(std::span<float>(numbers), shape{12}, random_key{}),
                       doctest::Contains("random_crop: expected images (height, width) or (height, width, channels), found "
                                         "samples of rank 1"),
                       input_error);
  const random_crop two{.padding = 9, .fill = {1, 2}};
  CHECK_THROWS_WITH_AS(two(std::span<float>(numbers), shape{2, 2, 3}, random_key{}), doctest::Contains("the 3 channels"),
                       input_error);
}

} // namespace random_crop_tests
