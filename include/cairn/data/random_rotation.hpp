// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <numbers>
#include <span>
#include <string>
#include <utility>

#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/image_part.hpp>
#include <cairn/data/pixel_value.hpp>
#include <cairn/data/resampled.hpp>

namespace cairn::vision {

// Turns an image (height, width) or (height, width, channels) about its middle by an angle that is drawn evenly from -degrees
// to degrees, linearly between pixels: torchvision's RandomRotation(degrees, BILINEAR). What comes from outside of the image is
// `fill`, usually the dataset's black(), which blends in at the edges like any pixel. Models sample_transform for
// floating-point numbers. Throws input_error for a sample of another rank, for a fill of another number of channels, and for
// degrees outside [0, 180].
struct random_rotation {
  double degrees = 10;
  pixel_value fill = 0;

  template <std::floating_point T>
  void operator()(std::span<T> sample, const shape& image, const types::random_key& key) const {
    const detail::image_extents of = detail::extents_of_image(image, "random_rotation");
    if (!(degrees >= 0 && degrees <= 180))
      throw input_error("random_rotation: expected degrees from 0 to 180, found " + std::to_string(degrees));
    turn(sample, of, degrees * (2 * ops::random_uniform<double>(key, 0) - 1), fill);
  }

  // The same by an angle that is given, against the clock.
  template <std::floating_point T>
  static void turn(std::span<T> sample, const detail::image_extents& of, double angle, const pixel_value& fill) {
    fill.check_channels(of.channels, "random_rotation: expected a fill of");
    const double turned = angle * std::numbers::pi / 180, cosine = std::cos(turned), sine = std::sin(turned);
    const double middle_y = (static_cast<double>(of.height) - 1) / 2, middle_x = (static_cast<double>(of.width) - 1) / 2;
    detail::resample(
        sample, of,
        [&](std::size_t y, std::size_t x) {
          const double down = static_cast<double>(y) - middle_y, right = static_cast<double>(x) - middle_x;
          return std::pair{middle_y + sine * right + cosine * down, middle_x + cosine * right - sine * down};
        },
        [&](std::size_t channel) { return fill[channel]; });
  }
};

} // namespace cairn::vision
