// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include <cairn/data/image_part.hpp>

namespace cairn::detail {

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
