// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <cairn/data/resampled.hpp>

namespace resampled_tests {

using namespace cairn;
using namespace cairn::detail;

TEST_CASE("resampled: between pixels it is linear, and what is outside has a part") {
  std::vector<double> image{1, 2, 3, 4};
  const auto half_right = [](std::size_t y, std::size_t x) {
    return std::pair{static_cast<double>(y), static_cast<double>(x) + 0.5};
  };
  resample(std::span(image), {2, 2, 1}, half_right, [](std::size_t) { return 10.0; });
  CHECK(image == std::vector<double>{1.5, 6, 3.5, 7});
  const auto far = [](std::size_t, std::size_t) { return std::pair{-1e6, 1e6}; };
  resample(std::span(image), {2, 2, 1}, far, [](std::size_t) { return 7.0; });
  CHECK(image == std::vector<double>(4, 7));
}

TEST_CASE("resampled: parts have the area and the ratio that are asked for, and are inside") {
  for (std::uint64_t round = 0; round < 200; ++round) {
    const image_part part = draw_part({40, 60, 3}, {0.25, 0.25}, {2, 2}, {.seed = 1, .step = round}, 5);
    CHECK(part.width == 35); // sqrt(600 * 2)
    CHECK(part.height == 17);
    CHECK(part.top + part.height <= 40);
    CHECK(part.left + part.width <= 60);
  }
  CHECK(draw_part({4, 6, 1}, {1, 1}, {0.01, 0.01}, {}, 0).height == 0);
}

TEST_CASE("resampled: an image has two or three extents") {
  CHECK(extents_of_image(shape{3, 4}, "who").channels == 1);
  CHECK(extents_of_image(shape{3, 4, 2}, "who").channels == 2);
  CHECK_THROWS_WITH_AS(extents_of_image(shape{3}, "who"),
                       "who: expected images (height, width) or (height, width, channels), found samples of rank 1", input_error);
}

} // namespace resampled_tests
