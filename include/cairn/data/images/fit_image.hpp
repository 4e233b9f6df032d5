// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/images/image_options.hpp>

namespace cairn::vision {

// How an image gets other extents. `scale`: it is stretched to both. `crop`: it is scaled until it covers them, with its ratio of
// width to height, and its centre is cut out.
enum class image_fit { scale, crop };

} // namespace cairn::vision

namespace cairn::detail {

// One axis of a resampling: for each pixel of the result, where its source pixels begin and what weight each of them has.
struct resampled_axis {
  static constexpr unsigned bits = 22; // a weight of 1 is 2^22, so that the sum of 255 of them fits into 32 bits

  std::size_t most = 0;              // source pixels of one
  std::vector<std::size_t> firsts;   // (pixels of the result)
  std::vector<std::int32_t> weights; // (pixels of the result, most)

  std::size_t begin() const { return firsts.front(); }
  std::size_t end(std::size_t extent) const { return std::min(extent, firsts.back() + most); }
};

// The weights of source pixels are a triangle over each pixel of the result. Where the image shrinks it is as wide as two of the
// result's pixels, so that every source pixel has a part: this is antialiased. Where it grows it is as wide as two source pixels:
// this is linear between pixels. `from` pixels become `to` pixels; the result is those from `first` on, `count` of them.
inline resampled_axis axis_of(std::size_t from, std::size_t to, std::size_t first, std::size_t count) {
  const double step = static_cast<double>(from) / static_cast<double>(to); // source pixels for each one
  const double reach = std::max(step, 1.0);
  resampled_axis out;
  out.most = std::min(from, static_cast<std::size_t>(std::ceil(reach)) * 2 + 1);
  out.weights.resize(count * out.most);
  std::vector<double> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const double centre = (static_cast<double>(first + i) + 0.5) * step;
    const auto begin = static_cast<std::size_t>(std::max(centre - reach + 0.5, 0.0));
    const auto end = std::min(from, static_cast<std::size_t>(centre + reach + 0.5));
    double sum = 0;
    parts.clear();
    for (std::size_t x = begin; x < end; ++x) {
      const double distance = std::abs((static_cast<double>(x) - centre + 0.5) / reach);
      parts.push_back(std::max(1 - distance, 0.0));
      sum += parts.back();
    }
    out.firsts.push_back(std::min(begin, from - out.most)); // weights before `begin` and after the last part stay 0
    for (std::size_t k = 0; k < parts.size(); ++k)
      out.weights[i * out.most + (begin - out.firsts[i]) + k] =
          static_cast<std::int32_t>(0.5 + parts[k] / sum * (1U << resampled_axis::bits));
  }
  return out;
}

// The sum of weighted bytes that lie `stride` apart, rounded.
inline std::uint8_t weighted(const std::uint8_t* from, std::size_t stride, const std::int32_t* weights, std::size_t count) {
  std::int32_t sum = 1 << (resampled_axis::bits - 1);
  for (std::size_t k = 0; k < count; ++k) sum += weights[k] * from[k * stride];
  return static_cast<std::uint8_t>(std::min(sum >> resampled_axis::bits, 255));
}

// Resamples along the width, then along the height, with bytes between them.
inline decoded_image resampled_image(const decoded_image& image, const resampled_axis& down, const resampled_axis& across) {
  const std::size_t height = down.firsts.size(), width = across.firsts.size(), channels = image.channels;
  const std::size_t top = down.begin(), rows = down.end(image.height) - top;
  std::vector<std::uint8_t> narrow(rows * width * channels);
  for (std::size_t y = 0; y < rows; ++y) {
    const std::uint8_t* const row = image.pixels.data() + (top + y) * image.width * channels;
    std::uint8_t* to = narrow.data() + y * width * channels;
    for (std::size_t x = 0; x < width; ++x)
      for (std::size_t c = 0; c < channels; ++c)
        *to++ = weighted(row + across.firsts[x] * channels + c, channels, across.weights.data() + x * across.most, across.most);
  }
  decoded_image out{height, width, channels, std::vector<std::uint8_t>(height * width * channels)};
  for (std::size_t y = 0; y < height; ++y) {
    const std::uint8_t* const column = narrow.data() + (down.firsts[y] - top) * width * channels;
    std::uint8_t* const to = out.pixels.data() + y * width * channels;
    for (std::size_t i = 0; i < width * channels; ++i)
      to[i] = weighted(column + i, width * channels, down.weights.data() + y * down.most, down.most);
  }
  return out;
}

// Where the middle `part` of `whole` begins; half a pixel goes to the even number, as Python rounds it.
inline std::size_t centred(std::size_t whole, std::size_t part) {
  const std::size_t twice = whole - part, half = twice / 2;
  return half + (twice % 2 != 0 && half % 2 != 0 ? 1 : 0);
}

} // namespace cairn::detail

namespace cairn::vision {

// Gives an image other extents. The bytes are those of Pillow's resize((width, height), BILINEAR), which torchvision's Resize
// calls for such images: linear between pixels and antialiased, rounded to bytes after the width and after the height. `crop` is
// torchvision's Resize(side) and CenterCrop(side). Throws input_error for extents of 0, and for pixels that do not fit theirs.
inline types::decoded_image fit_image(types::decoded_image image, std::size_t height, std::size_t width,
                                      image_fit fit = image_fit::scale) {
  detail::check_decoded(image, "fit_image");
  if (height == 0 || width == 0)
    throw input_error("fit_image: expected extents of at least 1, found " + detail::words_of_extents(height, width));
  std::size_t whole_height = height, whole_width = width;
  if (fit == image_fit::crop) {
    // The ratio of the width is the larger one where width / image.width >= height / image.height.
    if (width * image.height >= height * image.width) whole_height = width * image.height / image.width;
    else whole_width = height * image.width / image.height;
  }
  if (image.height == height && image.width == width) return image;
  const std::size_t top = detail::centred(whole_height, height), left = detail::centred(whole_width, width);
  return detail::resampled_image(image, detail::axis_of(image.height, whole_height, top, height),
                                 detail::axis_of(image.width, whole_width, left, width));
}

} // namespace cairn::vision
