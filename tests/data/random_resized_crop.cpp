// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cairn/data/random_resized_crop.hpp>
#include <cairn/data/transform.hpp>

#include "images.hpp"

namespace random_resized_crop_tests {

using namespace cairn;
using namespace cairn::detail;

static_assert(sample_transform<random_resized_crop, float> && sample_transform<random_resized_crop, double>);

TEST_CASE("random_resized_crop: torchvision's numbers, in every channel") {
  const std::vector<double> expected{0, 1.6, 4, 6.4, 8, 2, 2.6, 3.5, 6.05, 7.75, 6, 4.6, 2.5, 5.35, 7.25, 8, 5.6, 2, 5, 7};
  std::vector<double> image = testing::in_channels(testing::small_image(), 2);
  random_resized_crop::stretch(std::span(image), {4, 5, 2}, {.top = 1, .left = 1, .height = 2, .width = 3});
  testing::check_near(image, testing::in_channels(expected, 2), 1e-5);
}

TEST_CASE("random_resized_crop: the whole of an image is the image, and keys give parts of all sizes and places") {
  std::vector<double> image = testing::small_image();
  random_resized_crop::stretch(std::span(image), {4, 5, 1}, {0, 0, 4, 5});
  CHECK(image == testing::small_image());

  // A ramp from left to right says where a part begins and how wide it is.
  double narrowest = 1, widest = 0, leftmost = 1, rightmost = 0;
  for (std::uint64_t round = 0; round < 500; ++round) {
    std::vector<double> ramp(32 * 32);
    for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<double>(i % 32);
    std::vector<double> again = ramp;
    random_resized_crop{}(std::span(ramp), shape{32, 32}, sample_key(4, round, 1));
    random_resized_crop{}(std::span(again), shape{32, 32}, sample_key(4, round, 1));
    REQUIRE(ramp == again);
    const double wide = (ramp[31] - ramp[0] + 1) / 32;
    narrowest = std::min(narrowest, wide), widest = std::max(widest, wide);
    leftmost = std::min(leftmost, ramp[0] / 32), rightmost = std::max(rightmost, ramp[31] / 32);
  }
  CHECK(narrowest < 0.35);
  CHECK(narrowest >= 0.24); // sqrt(0.08 * 3 / 4)
  CHECK(widest > 0.9);
  CHECK(leftmost == 0);
  CHECK(rightmost == 31.0 / 32);
}

TEST_CASE("random_resized_crop: what does not fit is an error, and a part that does not fit leaves the image") {
  std::vector<float> image(12, 3.F);
  const random_key key{};
  CHECK_THROWS_WITH_AS(random_resized_crop{}(std::span(image), shape{12}, key),
                       doctest::Contains("random_resized_crop: expected images (height, width)"), input_error);
  CHECK_THROWS_WITH_AS(
      (random_resized_crop{.area = {0.5, 1.5}}(std::span(image), shape{3, 4}, key)),
      doctest::Contains("expected a range of shares of the area above 0.000000 and up to 1.000000, found 0.500000 to "
                        "1.500000"),
      input_error);
  CHECK_THROWS_AS((random_resized_crop{.ratio = {2, 1}}(std::span(image), shape{3, 4}, key)), input_error);
  CHECK_THROWS_AS((random_resized_crop{.area = {0, 1}}(std::span(image), shape{3, 4}, key)), input_error);
  std::vector<float> ramp{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<float> before = ramp;
  random_resized_crop{.area = {1, 1}, .ratio = {100, 100}}(std::span(ramp), shape{3, 4}, key);
  CHECK(ramp == before);
}

} // namespace random_resized_crop_tests
