// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include <cairn/data/image_part.hpp>

namespace image_part_tests {

using namespace cairn;
using namespace cairn::detail;

TEST_CASE("image_part: parts have the area and the ratio that are asked for, and are inside") {
  for (std::uint64_t round = 0; round < 200; ++round) {
    const image_part part = draw_part({40, 60, 3}, {0.25, 0.25}, {2, 2}, {.seed = 1, .step = round}, 5);
    CHECK(part.width == 35); // sqrt(600 * 2)
    CHECK(part.height == 17);
    CHECK(part.top + part.height <= 40);
    CHECK(part.left + part.width <= 60);
  }
  CHECK(draw_part({4, 6, 1}, {1, 1}, {0.01, 0.01}, {}, 0).height == 0);
}

TEST_CASE("image_part: an image has two or three extents") {
  CHECK(extents_of_image(shape{3, 4}, "who").channels == 1);
  CHECK(extents_of_image(shape{3, 4, 2}, "who").channels == 2);
  CHECK_THROWS_WITH_AS(extents_of_image(shape{3}, "who"),
                       "who: expected images (height, width) or (height, width, channels), found samples of rank 1", input_error);
}

} // namespace image_part_tests
