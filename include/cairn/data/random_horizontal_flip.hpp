// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/image_part.hpp>

namespace cairn::vision {

// Mirrors an image (height, width) or (height, width, channels), left to right, with this probability: torchvision's
// RandomHorizontalFlip. Models sample_transform. Throws input_error for a sample of another rank, and for a probability
// outside [0, 1].
struct random_horizontal_flip {
  double probability = 0.5;

  template <class T>
  void operator()(std::span<T> sample, const shape& image, const types::random_key& key) const {
    const detail::image_extents of = detail::extents_of_image(image, "random_horizontal_flip");
    if (!(probability >= 0 && probability <= 1)) // false for a NaN
      throw input_error("random_horizontal_flip: expected a probability from 0 to 1, found " + std::to_string(probability));
    // Uniform in [0, 1): never below 0, always below 1.
    if (ops::random_uniform<double>(key, 0) < probability) flip(sample.data(), of);
  }

private:
  template <class T>
  static void flip(T* line, const detail::image_extents& image) {
    const std::size_t channels = image.channels, width = image.width;
    for (std::size_t y = 0; y < image.height; ++y, line += width * channels)
      for (std::size_t left = 0, right = width; left + 1 < right; ++left) {
        --right;
        std::swap_ranges(line + left * channels, line + (left + 1) * channels, line + right * channels);
      }
  }
};

} // namespace cairn::vision
