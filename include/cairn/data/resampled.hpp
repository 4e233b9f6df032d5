// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

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
    const auto between = [&](std::uint64_t index, double least, double most) {
      return least + (most - least) * ops::random_uniform<double>(key, at + index);
    };
    const double pixels = whole * between(0, area.least, area.most);
    const double wide = std::exp(between(1, std::log(ratio.least), std::log(ratio.most)));
    const auto width = static_cast<std::size_t>(std::lround(std::sqrt(pixels * wide)));
    const auto height = static_cast<std::size_t>(std::lround(std::sqrt(pixels / wide)));
    if (width == 0 || height == 0 || width > image.width || height > image.height) continue;
    const auto place = [&](std::uint64_t index, std::size_t free) {
      return static_cast<std::size_t>(random_below(std::uint64_t{ops::random_bits(key, at + index)} << 32, free + 1));
    };
    return {place(2, image.height - height), place(3, image.width - width), height, width};
  }
  return {};
}

// Replaces an image by one whose pixel (y, x) is the old one's at source(y, x), a pair of coordinates: linear between the four
// neighbours (height, width), of which pixel(y, x, channel) are those outside too.
template <std::floating_point T, class Source, class Outside>
void resample(std::span<T> sample, const image_extents& image, const Source& source, const Outside& outside) {
  thread_local std::vector<T> old; // kept, so that a loader does not allocate for each sample
  old.assign(sample.begin(), sample.end());
  const auto height = static_cast<std::ptrdiff_t>(image.height), width = static_cast<std::ptrdiff_t>(image.width);
  T* to = sample.data();
  for (std::size_t y = 0; y < image.height; ++y)
    for (std::size_t x = 0; x < image.width; ++x) {
      const auto [at_y, at_x] = source(y, x);
      const double top = std::floor(at_y), left = std::floor(at_x);
      const double down = at_y - top, right = at_x - left;
      const auto row = static_cast<std::ptrdiff_t>(top), column = static_cast<std::ptrdiff_t>(left);
      for (std::size_t channel = 0; channel < image.channels; ++channel) {
        const auto value = [&](std::ptrdiff_t j, std::ptrdiff_t i) {
          if (j < 0 || j >= height || i < 0 || i >= width) return static_cast<double>(outside(channel));
          return static_cast<double>(old[static_cast<std::size_t>(j * width + i) * image.channels + channel]);
        };
        const double above = value(row, column) * (1 - right) + value(row, column + 1) * right;
        const double below = value(row + 1, column) * (1 - right) + value(row + 1, column + 1) * right;
        *to++ = static_cast<T>(above * (1 - down) + below * down);
      }
    }
}

} // namespace cairn::detail
