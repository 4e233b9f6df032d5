// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <cairn/core/shape.hpp>
#include <cairn/data/image_dataset.hpp>
#include <cairn/data/mnist.hpp>

#include "digit_strokes.hpp"
#include "image_draws.hpp"

namespace drawing {

// An image while it is drawn: the ink of each pixel, 0 … 1, is the most that any stroke left there.
class digit_canvas {
public:
  static constexpr std::size_t side = 28;

  std::array<float, side * side> ink{};

  // A line with round ends. Only pixels near it are visited, an eighth of all for a usual piece of stroke.
  void line(point from, point to, double radius) {
    const auto low = [&](double a, double b) { return pixel(std::min(a, b) - radius - 1); };
    const auto high = [&](double a, double b) { return pixel(std::max(a, b) + radius + 2); };
    const point along{to.x - from.x, to.y - from.y};
    const double length = std::max(along.x * along.x + along.y * along.y, 1e-12);
    for (std::size_t y = low(from.y, to.y); y < high(from.y, to.y); ++y)
      for (std::size_t x = low(from.x, to.x); x < high(from.x, to.x); ++x) {
        const point here{static_cast<double>(x) - from.x, static_cast<double>(y) - from.y};
        const double t = std::clamp((here.x * along.x + here.y * along.y) / length, 0.0, 1.0);
        const double dx = here.x - t * along.x;
        const double dy = here.y - t * along.y;
        const double cover = std::clamp(radius + 0.5 - std::sqrt(dx * dx + dy * dy), 0.0, 1.0);
        ink[y * side + x] = std::max(ink[y * side + x], static_cast<float>(cover));
      }
  }

private:
  static std::size_t pixel(double at) { return static_cast<std::size_t>(std::clamp(at, 0.0, double{side})); }
};

// One hand: how it distorts the upright digits of digit_strokes. It uses (1 - h^2) / (1 + h^2) and 2h / (1 + h^2) as cosine and
// sine, because the last bits of cos and sin differ between machines.
class handwriting {
public:
  explicit handwriting(image_draws& draws) {
    const double half = draws.around(0.16); // tangent of half the angle: up to 18 degrees
    const double cosine = (1 - half * half) / (1 + half * half);
    const double sine = 2 * half / (1 + half * half);
    const double wide = draws.uniform(0.7, 1.15);
    const double high = draws.uniform(0.75, 1.05);
    const double slant = draws.around(0.45) - 0.1;
    xx_ = cosine * wide;
    xy_ = (-sine - cosine * slant) * high;
    yx_ = sine * wide;
    yy_ = (cosine - sine * slant) * high;
    x_ = 13.5 + draws.around(3.5);
    y_ = 13.5 + draws.around(3.5);
    radius = draws.uniform(0.5, 1.6);
  }

  double radius = 1;

  // Strokes have their middle at (6, 10); a unit is a pixel.
  point place(point p) const {
    const double x = p.x - 6;
    const double y = p.y - 10;
    return {x_ + xx_ * x + xy_ * y, y_ + yx_ * x + yy_ * y};
  }

private:
  double xx_, xy_, yx_, yy_, x_, y_;
};

inline void draw_stroke(digit_canvas& canvas, const handwriting& hand, image_draws& draws, const stroke& path) {
  std::array<point, stroke::max_points> knots{};
  for (std::size_t i = 0; i < path.count; ++i) {
    // A doubled point is a corner, and must stay one.
    const bool doubled = i > 0 && path.points[i].x == path.points[i - 1].x && path.points[i].y == path.points[i - 1].y;
    const double x = draws.around(2.2);
    const double y = draws.around(2.2);
    knots[i] = doubled ? knots[i - 1] : hand.place({path.points[i].x + x, path.points[i].y + y});
  }
  // A quadratic B-spline that begins at the first point and ends at the last; every piece in four lines.
  const auto middle = [](point a, point b) { return point{(a.x + b.x) / 2, (a.y + b.y) / 2}; };
  point last = knots[0];
  for (std::size_t i = 0; i < path.count; ++i) {
    const point from = i == 0 ? knots[0] : middle(knots[i - 1], knots[i]);
    const point to = i + 1 == path.count ? knots[i] : middle(knots[i], knots[i + 1]);
    for (int piece = 1; piece <= 4; ++piece) {
      const double t = piece / 4.0;
      const point a{from.x + t * (knots[i].x - from.x), from.y + t * (knots[i].y - from.y)};
      const point b{knots[i].x + t * (to.x - knots[i].x), knots[i].y + t * (to.y - knots[i].y)};
      const point next{a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)};
      canvas.line(last, next, hand.radius);
      last = next;
    }
  }
}

// Draws image number `image` into 28 x 28 bytes and returns its digit.
inline std::uint8_t draw_digit(std::uint64_t seed, std::uint64_t image, std::uint8_t* pixels) {
  image_draws draws(seed, image, of_digits);
  const std::size_t digit = draws.below(10);
  const auto shapes = digit_strokes(digit);
  const handwriting hand(draws);
  digit_canvas canvas;
  for (const stroke& path : shapes[draws.below(shapes.size())]) draw_stroke(canvas, hand, draws, path);
  // A scratch that belongs to no digit, on every third image.
  if (draws.below(3) == 0) {
    const point from{draws.uniform(2, 26), draws.uniform(2, 26)};
    canvas.line(from, {from.x + draws.around(8), from.y + draws.around(8)}, 0.5);
  }
  const double bright = draws.uniform(160, 255);
  const double grain = draws.uniform(0, 60);
  with_grain(draws, grain, pixels, canvas.ink.size(), [&](std::size_t i) { return bright * double{canvas.ink[i]}; });
  return static_cast<std::uint8_t>(digit);
}

template <class T>
cairn::vision::image_dataset<T> draw_digits(std::uint64_t seed, std::size_t first, std::size_t count) {
  constexpr std::size_t size = digit_canvas::side * digit_canvas::side;
  std::vector<std::uint8_t> pixels(count * size);
  std::vector<std::uint8_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = draw_digit(seed, first + i, pixels.data() + i * size);
  return {cairn::shape{digit_canvas::side, digit_canvas::side, 1}, std::move(pixels), std::move(labels),
          cairn::vision::mnist_scale};
}

} // namespace drawing

// Digits drawn by a program, for use without MNIST: the same struct, the same extents and a similar task (a linear classifier
// fails at it, a small network does not). Every image is a digit's strokes with moved points, slanted, turned, scaled and
// shifted, of its own thickness and brightness, with grain, and sometimes with a scratch.
template <class T = float>
cairn::vision::digit_images<T> generated_digits(generated_options options = {}) {
  return {drawing::draw_digits<T>(options.seed, 0, options.train),
          drawing::draw_digits<T>(options.seed, options.train, options.test)};
}
