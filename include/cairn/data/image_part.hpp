// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/permutation.hpp>

namespace cairn::detail {

// The extents of an image.
struct image_extents {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 1;
};
inline image_extents extents_of_image(const shape& image, const char* whose) {
  if (image.rank != 2 && image.rank != 3)
    throw input_error(std::string(whose) +
                      ": expected images (height, width) or (height, width, channels), found samples of rank " +
                      std::to_string(image.rank));
  return {image[0], image[1], image.rank == 3 ? image[2] : 1};
}

// A range from which a transform draws evenly.
struct drawn_range {
  double least = 0;
  double most = 0;

  double draw(const types::random_key& key, std::uint64_t index) const {
    return least + (most - least) * ops::random_uniform<double>(key, index);
  }
};
inline void check_range(drawn_range range, double least, double most, const char* whose, const char* what) {
  if (!(range.least > least && range.least <= range.most && range.most <= most))
    throw input_error(std::string(whose) + ": expected a range of " + what + " above " + std::to_string(least) +
                      (most < 1e9 ? " and up to " + std::to_string(most) : "") + ", found " + std::to_string(range.least) +
                      " to " + std::to_string(range.most));
}

// A part of an image, in pixels.
struct image_part {
  std::size_t top = 0;
  std::size_t left = 0;
  std::size_t height = 0;
  std::size_t width = 0;
};
// Draws a part by its share of an image's area and by the ratio of its width to its height, whose logarithm is drawn evenly, at
// an even place: up to ten times until it fits, as torchvision does. Returns a part of height 0 if none does. It uses up to 40
// numbers of the stream, from `first` on.
inline image_part draw_part(const image_extents& image, drawn_range area, drawn_range ratio, const types::random_key& key,
                            std::uint64_t first) {
  const auto whole = static_cast<double>(image.height * image.width);
  for (std::uint64_t attempt = 0; attempt < 10; ++attempt) {
    const std::uint64_t at = first + 4 * attempt;
    const double pixels = whole * area.draw(key, at);
    const double wide = std::exp(drawn_range{std::log(ratio.least), std::log(ratio.most)}.draw(key, at + 1));
    const auto width = static_cast<std::size_t>(std::lround(std::sqrt(pixels * wide)));
    const auto height = static_cast<std::size_t>(std::lround(std::sqrt(pixels / wide)));
    if (width == 0 || height == 0 || width > image.width || height > image.height) continue;
    return {random_below(key, at + 2, image.height - height + 1), random_below(key, at + 3, image.width - width + 1), height,
            width};
  }
  return {};
}

} // namespace cairn::detail
