// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/image_part.hpp>
#include <cairn/data/pixel_value.hpp>

namespace cairn::vision {

// Fills a rectangle of an image (height, width) or (height, width, channels) with this probability: torchvision's RandomErasing
// (Zhong, Zheng, Kang, Li, Yang: Random Erasing Data Augmentation. 2020), and Cutout (DeVries, Taylor. 2017) with a probability
// of 1. The rectangle has a share of the area and a ratio of width to height that are drawn; where none fits, the image stays as
// it is. Models sample_transform. Throws input_error for a sample of another rank, for a fill of another number of channels, and
// for a probability or ranges that are none.
struct random_erasing {
  double probability = 0.5;
  detail::drawn_range area{0.02, 0.33};
  detail::drawn_range ratio{0.3, 3.3};
  pixel_value fill = 0;

  template <class T>
  void operator()(std::span<T> sample, const shape& image, const types::random_key& key) const {
    constexpr const char* whose = "random_erasing";
    const detail::image_extents of = detail::extents_of_image(image, whose);
    detail::check_range(area, 0, 1, whose, "shares of the area");
    detail::check_range(ratio, 0, 1e9, whose, "ratios");
    if (!(probability >= 0 && probability <= 1))
      throw input_error("random_erasing: expected a probability from 0 to 1, found " + std::to_string(probability));
    if (ops::random_uniform<double>(key, 0) >= probability) return;
    const detail::image_part part = detail::draw_part(of, area, ratio, key, 1);
    for (std::size_t y = part.top; y < part.top + part.height; ++y)
      fill.fill(sample.data() + (y * of.width + part.left) * of.channels, part.width * of.channels, of.channels);
  }
};

} // namespace cairn::vision
