// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/image_part.hpp>
#include <cairn/data/permutation.hpp>
#include <cairn/data/pixel_value.hpp>

namespace cairn::detail {

// The brightness of a colour as the eye has it, by the weights of ITU-R BT.601 that torchvision takes.
template <class T>
T gray_of(const T* pixel) {
  return static_cast<T>(0.2989 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2]);
}

// Moves each of `count` numbers from 0 to 1 away from, or towards, another one: to * (1 - share) + own * share, cut to 0 … 1.
template <class T>
void move_towards(T* own, std::size_t count, T to, double share) {
  for (std::size_t i = 0; i < count; ++i) own[i] = static_cast<T>(std::clamp(share * own[i] + (1 - share) * to, 0.0, 1.0));
}

// Turns the hue of a colour by a part of the circle, through HSV (Smith: Color gamut transform pairs. 1978).
template <class T>
void turn_hue(T* pixel, double by) {
  const double r = pixel[0], g = pixel[1], b = pixel[2];
  const double most = std::max({r, g, b}), least = std::min({r, g, b}), range = most - least;
  if (range == 0) return; // gray
  double sextant = most == r ? (g - b) / range : most == g ? 2 + (b - r) / range : 4 + (r - g) / range;
  sextant += 6 * by;
  sextant -= 6 * std::floor(sextant / 6);
  const double whole = std::floor(sextant), part = sextant - whole;
  const double down = most - range * part, up = least + range * part;
  const std::array<std::array<double, 3>, 6> colours{
      {{most, up, least}, {down, most, least}, {least, most, up}, {least, down, most}, {up, least, most}, {most, least, down}}};
  const auto& turned = colours[static_cast<std::size_t>(whole) % 6];
  for (std::size_t channel = 0; channel < 3; ++channel) pixel[channel] = static_cast<T>(turned[channel]);
}

} // namespace cairn::detail

namespace cairn::vision {

// Changes brightness, contrast, saturation and hue of an image (height, width), (height, width, 1) or (height, width, 3), of red,
// green and blue, in an order that is drawn: torchvision's ColorJitter. Brightness, contrast and saturation are multiplied by a
// factor that is drawn evenly from 1 - x, at least 0, to 1 + x; the hue is turned by up to `hue` of the circle, either way. An
// image of one channel has no saturation and no hue. Black and white are the dataset's, between which values are cut. Models
// sample_transform for floating-point numbers. Throws input_error for a sample of another shape, an x below 0, a hue outside
// [0, 0.5], and for a black that is not below the white, or of another number of channels.
struct color_jitter {
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
  double hue = 0;
  pixel_value black = 0;
  pixel_value white = 1;

  template <std::floating_point T>
  void operator()(std::span<T> sample, const shape& image, const types::random_key& key) const {
    const std::size_t channels = checked(image);
    for (std::size_t i = 0; i < sample.size(); ++i) { // to parts of white
      const std::size_t c = i % channels;
      sample[i] = static_cast<T>((sample[i] - black[c]) / (white[c] - black[c]));
    }
    std::array<std::size_t, 4> order{0, 1, 2, 3};
    for (std::size_t k = 3; k > 0; --k) std::swap(order[k], order[detail::random_below(key, 4 + k, k + 1)]);
    const std::array change{&color_jitter::brighten<T>, &color_jitter::contrasted<T>, &color_jitter::saturate<T>,
                            &color_jitter::turn<T>};
    const std::array<detail::drawn_range, 4> factors{around_one(brightness), around_one(contrast), around_one(saturation),
                                                     detail::drawn_range{-hue, hue}};
    for (const std::size_t k : order)
      if (factors[k].least < factors[k].most) change[k](sample, channels, factors[k].draw(key, k));
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const std::size_t c = i % channels;
      sample[i] = static_cast<T>(black[c] + sample[i] * (white[c] - black[c]));
    }
  }

  // One change by a factor that is given; values are parts of white.
  template <class T>
  static void brighten(std::span<T> sample, std::size_t /*channels*/, double factor) {
    detail::move_towards(sample.data(), sample.size(), T(0), factor);
  }
  template <class T>
  static void contrasted(std::span<T> sample, std::size_t channels, double factor) {
    double sum = 0;
    for (std::size_t i = 0; i < sample.size(); i += channels) sum += channels == 3 ? detail::gray_of(&sample[i]) : sample[i];
    const double mean = sum * static_cast<double>(channels) / static_cast<double>(sample.size());
    detail::move_towards(sample.data(), sample.size(), static_cast<T>(mean), factor);
  }
  template <class T>
  static void saturate(std::span<T> sample, std::size_t channels, double factor) {
    if (channels != 3) return;
    for (std::size_t i = 0; i < sample.size(); i += 3) detail::move_towards(&sample[i], 3, detail::gray_of(&sample[i]), factor);
  }
  template <class T>
  static void turn(std::span<T> sample, std::size_t channels, double by) {
    if (channels != 3) return;
    for (std::size_t i = 0; i < sample.size(); i += 3) detail::turn_hue(&sample[i], by);
  }

private:
  static detail::drawn_range around_one(double width) { return {std::max(0.0, 1 - width), 1 + width}; }
  // The number of channels.
  std::size_t checked(const shape& image) const {
    const std::size_t channels = detail::extents_of_image(image, "color_jitter").channels;
    if (channels != 1 && channels != 3)
      throw input_error("color_jitter: expected images of 1 or 3 channels, found " + std::to_string(channels));
    if (!(brightness >= 0 && contrast >= 0 && saturation >= 0 && hue >= 0 && hue <= 0.5))
      throw input_error(
          "color_jitter: expected a brightness, contrast and saturation of 0 or more, and a hue from 0 to 0.5, found " +
          std::to_string(brightness) + ", " + std::to_string(contrast) + ", " + std::to_string(saturation) + " and " +
          std::to_string(hue));
    for (const pixel_value* const each : {&black, &white})
      each->check_channels(channels, "color_jitter: expected a black and a white of");
    for (std::size_t c = 0; c < channels; ++c)
      if (!(black[c] < white[c]))
        throw input_error("color_jitter: expected a black below the white, found " + std::to_string(black[c]) + " and " +
                          std::to_string(white[c]) + "; take the dataset's black() and white()");
    return channels;
  }
};

} // namespace cairn::vision
