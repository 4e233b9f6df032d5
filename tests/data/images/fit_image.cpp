// SPDX-License-Identifier: MIT
#include <cairn/data/images/fit_image.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/data/images/read_image.hpp>
#include <doctest/doctest.h>

#include "reference_images.hpp"

namespace fit_image_tests {

using namespace cairn;
using namespace testing;
using vision::fit_image, vision::image_fit;

TEST_CASE("fit_image: the bytes are those of Pillow's resize and of torchvision's Resize with CenterCrop") {
  const auto all = expected_images("fitted.txt");
  CHECK(all.size() == 16);
  for (const auto& each : all) {
    INFO(each.file << " " << each.how << " " << each.height << " x " << each.width);
    const auto image = vision::read_image(reference_image(each.file), {.channels = each.channels()});
    const auto fitted = fit_image(image, each.height, each.width, each.how == "crop" ? image_fit::crop : image_fit::scale);
    CHECK(fitted.height == each.height);
    CHECK(fitted.width == each.width);
    CHECK(fitted.channels == image.channels);
    CHECK(fitted.pixels == each.pixels);
  }
}

TEST_CASE("fit_image: an image of the right extents stays") {
  const auto image = vision::read_image(reference_image("colour_8.png"));
  CHECK(fit_image(image, image.height, image.width).pixels == image.pixels);
  CHECK(fit_image(image, image.height, image.width, image_fit::crop).pixels == image.pixels);
}

TEST_CASE("fit_image: crop cuts the longer side, wherever it is, and scales nothing if the other fits") {
  types::decoded_image image{2, 5, 1, {0, 1, 2, 3, 4, 10, 11, 12, 13, 14}};
  CHECK(fit_image(image, 2, 2, image_fit::crop).pixels == std::vector<std::uint8_t>{2, 3, 12, 13}); // of 3 columns, 2 before
  CHECK(fit_image(image, 2, 3, image_fit::crop).pixels == std::vector<std::uint8_t>{1, 2, 3, 11, 12, 13});
  CHECK(fit_image(image, 2, 4, image_fit::crop).pixels == std::vector<std::uint8_t>{0, 1, 2, 3, 10, 11, 12, 13});
  image = {5, 2, 1, {0, 10, 1, 11, 2, 12, 3, 13, 4, 14}};
  CHECK(fit_image(image, 2, 2, image_fit::crop).pixels == std::vector<std::uint8_t>{2, 12, 3, 13});
  CHECK(fit_image(image, 1, 2, image_fit::crop).pixels == std::vector<std::uint8_t>{2, 12});
  // Half as large, with the middle two of three rows that are not whole: its rows are those of a scaled image.
  image = {6, 4, 1, std::vector<std::uint8_t>(24)};
  for (std::size_t i = 0; i < 24; ++i) image.pixels[i] = static_cast<std::uint8_t>(i * i % 200);
  const auto whole = fit_image(image, 3, 2).pixels;
  CHECK(fit_image(image, 1, 2, image_fit::crop).pixels == std::vector<std::uint8_t>(whole.begin() + 2, whole.begin() + 4));
}

TEST_CASE("fit_image: one value stays that value, at any extents") {
  const types::decoded_image image{3, 700, 3, std::vector<std::uint8_t>(6300, 255)};
  for (const std::size_t side : {1U, 2U, 3U, 64U}) {
    const auto pixels = fit_image(image, side, 2 * side).pixels;
    CHECK(pixels.size() == 6 * side * side);
    CHECK(std::all_of(pixels.begin(), pixels.end(), [](std::uint8_t p) { return p == 255; }));
  }
}

TEST_CASE("fit_image refuses extents of 0 and pixels that do not fit theirs") {
  const types::decoded_image image{1, 2, 1, {7, 8}};
  CHECK_THROWS_WITH_AS(fit_image(image, 0, 2), doctest::Contains("expected extents of at least 1, found 0 x 2"), input_error);
  CHECK_THROWS_AS(fit_image(image, 2, 0), input_error);
  CHECK_THROWS_WITH_AS(fit_image({1, 2, 1, {7}}, 2, 2),
                       doctest::Contains("the bytes of (1 x 2 x 1), at least one, with 1 or 3 channels, found 1"), input_error);
  CHECK_THROWS_AS(fit_image({1, 1, 2, {7, 8}}, 2, 2), input_error);
  CHECK_THROWS_AS(fit_image({}, 2, 2), input_error);
}

} // namespace fit_image_tests
