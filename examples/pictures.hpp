// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <cairn/core/shape.hpp>
#include <cairn/data/cifar.hpp>
#include <cairn/data/image_dataset.hpp>

#include "image_draws.hpp"

namespace drawing {

using colour = std::array<double, 3>; // red, green, blue: 0 … 1

// Five shapes in two kinds of colour. A label is 2 shape + (0 warm, 1 cool).
enum class outline { disc, ring, square, triangle, cross };

inline colour mix(const colour& a, const colour& b, double t) {
  return {a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2])};
}
inline double distance(const colour& a, const colour& b) {
  return std::abs(a[0] - b[0]) + std::abs(a[1] - b[1]) + std::abs(a[2] - b[2]);
}

// Warm has more red than blue, cool more blue than red; green is arbitrary.
inline colour tinted(image_draws& draws, bool cool) {
  const double most = draws.uniform(0.5, 1);
  const double least = draws.uniform(0, most - 0.4);
  const double green = draws.uniform(0.1, 0.9);
  return cool ? colour{least, green, most} : colour{most, green, least};
}

// How far a point is outside of a shape of radius 1 around (0, 0), in a measure that is 0 on the outline and negative inside.
inline double outside(outline shape, double x, double y) {
  switch (shape) {
  case outline::disc: return std::sqrt(x * x + y * y) - 0.9;
  case outline::ring: return std::abs(std::sqrt(x * x + y * y) - 0.75) - 0.22;
  case outline::square: return std::max(std::abs(x), std::abs(y)) - 0.8;
  case outline::triangle: // three sides, at 120 degrees to each other
    return std::max({y, -0.5 * y + 0.8660254037844386 * x, -0.5 * y - 0.8660254037844386 * x}) - 0.55;
  case outline::cross: break;
  }
  return std::min(std::max(std::abs(x) - 1, std::abs(y) - 0.3), std::max(std::abs(y) - 1, std::abs(x) - 0.3));
}

class picture_canvas {
public:
  static constexpr std::size_t side = 32;

  std::array<colour, side * side> pixels{};

  // A gradient from one colour to another, in any direction.
  void background(image_draws& draws, const colour& from, const colour& to) {
    const double right = draws.uniform(-0.5, 0.5);
    const double down = draws.uniform(-0.5, 0.5);
    each([&](colour& pixel, double x, double y) {
      pixel = mix(from, to, std::clamp(0.5 + (right * (x - middle) + down * (y - middle)) / middle, 0.0, 1.0));
    });
  }
  // A turned shape; `half` is the tangent of half the angle: cosine and sine are fractions of it, with the same bits
  // everywhere.
  void draw(outline shape, const colour& paint, double at_x, double at_y, double radius, double half) {
    const double cosine = (1 - half * half) / (1 + half * half);
    const double sine = 2 * half / (1 + half * half);
    each([&](colour& pixel, double x, double y) {
      const double u = (cosine * (x - at_x) + sine * (y - at_y)) / radius;
      const double v = (cosine * (y - at_y) - sine * (x - at_x)) / radius;
      if (u * u + v * v > 4) return; // far outside of every shape
      pixel = mix(pixel, paint, std::clamp(0.5 - radius * outside(shape, u, v), 0.0, 1.0));
    });
  }

  static constexpr double middle = (side - 1) / 2.0;

private:
  template <class Paint>
  void each(Paint paint) {
    for (std::size_t y = 0; y < side; ++y)
      for (std::size_t x = 0; x < side; ++x) paint(pixels[y * side + x], static_cast<double>(x), static_cast<double>(y));
  }
};

// Draws picture number `image` into (32, 32, 3) bytes and returns its label.
inline std::uint8_t draw_picture(std::uint64_t seed, std::uint64_t image, std::uint8_t* bytes) {
  image_draws draws(seed, image, of_pictures);
  const std::size_t shape = draws.below(5);
  const bool cool = draws.below(2) == 1;
  const colour paint = tinted(draws, cool);
  const auto scenery = [&] { return tinted(draws, draws.below(2) == 1); }; // of either kind, so that the mean colour says little

  picture_canvas canvas;
  // The one of three backgrounds that differs most from the shape, so that the shape is visible.
  std::array<colour, 3> behind{scenery(), scenery(), scenery()};
  std::sort(behind.begin(), behind.end(),
            [&](const colour& a, const colour& b) { return distance(a, paint) > distance(b, paint); });
  canvas.background(draws, behind[0], mix(behind[0], behind[1], 0.6));
  const std::size_t spots = draws.below(4);
  for (std::size_t k = 0; k < spots; ++k) { // one statement for each draw: arguments have no order of evaluation
    const colour spot = scenery();
    const outline form = draws.below(2) == 0 ? outline::disc : outline::square;
    const double size = draws.uniform(1.5, 3);
    const double right = draws.uniform(0, 31);
    const double down = draws.uniform(0, 31);
    canvas.draw(form, spot, right, down, size, draws.uniform(-1, 1));
  }
  const double radius = draws.uniform(7, 13);
  const double x = picture_canvas::middle + draws.around(6);
  const double y = picture_canvas::middle + draws.around(6);
  canvas.draw(static_cast<outline>(shape), paint, x, y, radius, draws.uniform(-1, 1));

  const double bright = draws.uniform(140, 255);
  const double grain = draws.uniform(10, 80);
  with_grain(draws, grain, bytes, 3 * canvas.pixels.size(), [&](std::size_t i) { return bright * canvas.pixels[i / 3][i % 3]; });
  return static_cast<std::uint8_t>(2 * shape + (cool ? 1 : 0));
}

template <class T>
cairn::vision::image_dataset<T> draw_pictures(std::uint64_t seed, std::size_t first, std::size_t count) {
  constexpr std::size_t size = picture_canvas::side * picture_canvas::side * 3;
  std::vector<std::uint8_t> pixels(count * size);
  std::vector<std::uint8_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = draw_picture(seed, first + i, pixels.data() + i * size);
  return {cairn::shape{picture_canvas::side, picture_canvas::side, 3}, std::move(pixels), std::move(labels),
          cairn::vision::cifar10_scale};
}

} // namespace drawing

// Pictures drawn by a program, for use without CIFAR-10: the same struct, the same extents, ten classes, another task. The
// label is a shape (disc, ring, square, triangle, cross) and whether it is warm or cool. Place, size, angle, colour,
// background, brightness and grain vary, and there are small spots. Mirrored and cropped pictures keep their labels.
template <class T = float>
cairn::vision::cifar_images<T> generated_pictures(generated_options options = {}) {
  return {drawing::draw_pictures<T>(options.seed, 0, options.train),
          drawing::draw_pictures<T>(options.seed, options.train, options.test)};
}
