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

namespace cairn::vision {

// Mirrors an image (height, width) or (height, width, channels), left to right, with this probability: torchvision's
// RandomHorizontalFlip. Models sample_transform. Throws input_error for a sample of another rank, and for a probability
// outside [0, 1].
struct random_horizontal_flip {
  double probability = 0.5;

  template <class T>
  void operator()(std::span<T> sample, const shape& image, const types::random_key& key) const {
    if (image.rank != 2 && image.rank != 3)
      throw input_error("random_horizontal_flip: expected images (height, width) or (height, width, channels), found "
                        "samples of rank " +
                        std::to_string(image.rank));
    if (!(probability >= 0 && probability <= 1)) // false for a NaN
      throw input_error("random_horizontal_flip: expected a probability from 0 to 1, found " + std::to_string(probability));
    // Uniform in [0, 1): never below 0, always below 1.
    if (ops::random_uniform<double>(key, 0) < probability) flip(sample.data(), image);
  }

private:
  template <class T>
  static void flip(T* line, const shape& image) {
    const std::size_t channels = image.rank == 3 ? image[2] : 1;
    const std::size_t width = image[1];
    for (std::size_t y = 0; y < image[0]; ++y, line += width * channels)
      for (std::size_t left = 0, right = width; left + 1 < right; ++left) {
        --right;
        std::swap_ranges(line + left * channels, line + (left + 1) * channels, line + right * channels);
      }
  }
};

} // namespace cairn::vision
