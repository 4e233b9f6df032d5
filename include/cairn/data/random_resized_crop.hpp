// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/image_part.hpp>
#include <cairn/data/resampled.hpp>

namespace cairn::vision {

// Cuts out a part of an image (height, width) or (height, width, channels) and stretches it to the image's extents, linearly
// between pixels: torchvision's RandomResizedCrop(size of the image). The part has a share of the area and a ratio of width to
// height that are drawn; where none fits, the image stays as it is. Models sample_transform for floating-point numbers. Throws
// input_error for a sample of another rank, and for ranges that are none.
struct random_resized_crop {
  detail::drawn_range area{0.08, 1};
  detail::drawn_range ratio{3.0 / 4, 4.0 / 3};

  template <std::floating_point T>
  void operator()(std::span<T> sample, const shape& image, const types::random_key& key) const {
    constexpr const char* whose = "random_resized_crop";
    const detail::image_extents of = detail::extents_of_image(image, whose);
    detail::check_range(area, 0, 1, whose, "shares of the area");
    detail::check_range(ratio, 0, 1e9, whose, "ratios");
    const detail::image_part part = detail::draw_part(of, area, ratio, key, 0);
    if (part.height != 0) stretch(sample, of, part);
  }

  // The same for a part that is given.
  template <std::floating_point T>
  static void stretch(std::span<T> sample, const detail::image_extents& of, const detail::image_part& part) {
    // The middle of a pixel is that of the part which it is made of; at the edges of the part its outermost pixels go on.
    const auto along = [](std::size_t to, std::size_t extent, std::size_t begin, std::size_t length) {
      const double at = (static_cast<double>(to) + 0.5) * static_cast<double>(length) / static_cast<double>(extent) - 0.5;
      return static_cast<double>(begin) + std::clamp(at, 0.0, static_cast<double>(length - 1));
    };
    detail::resample(
        sample, of,
        [&](std::size_t y, std::size_t x) {
          return std::pair{along(y, of.height, part.top, part.height), along(x, of.width, part.left, part.width)};
        },
        [](std::size_t) { return 0.0; }); // which has no part in any pixel
  }
};

} // namespace cairn::vision
