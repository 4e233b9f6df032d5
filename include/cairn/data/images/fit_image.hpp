// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/core/config.hpp>
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
  std::vector<std::size_t> counts;   // (pixels of the result), each at most `most`
  std::vector<std::int32_t> weights; // (pixels of the result, most)

  std::size_t begin() const { return firsts.front(); }
  std::size_t end() const { return firsts.back() + counts.back(); }
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
    out.firsts.push_back(begin);
    out.counts.push_back(parts.size());
    for (std::size_t k = 0; k < parts.size(); ++k)
      out.weights[i * out.most + k] = static_cast<std::int32_t>(0.5 + parts[k] / sum * (1U << resampled_axis::bits));
  }
  return out;
}

CAIRN_KERNELS_BEGIN

// The byte of a weighted sum, rounded. The weights of a pixel may add up to a little more than 1.
inline std::uint8_t byte_of_sum(std::int32_t sum) {
  const std::int32_t value = (sum + (1 << (resampled_axis::bits - 1))) >> resampled_axis::bits;
  return static_cast<std::uint8_t>(value < 255 ? value : 255);
}

// One row (width, channels) of the result from one of the source.
template <std::size_t Channels>
void resample_row(const std::uint8_t* from, std::uint8_t* to, const std::size_t* firsts, const std::size_t* counts,
                  const std::int32_t* weights, std::size_t width, std::size_t most) {
  for (std::size_t x = 0; x < width; ++x, weights += most, to += Channels) {
    const std::uint8_t* pixel = from + firsts[x] * Channels;
    const std::size_t count = counts[x];
    std::int32_t sums[Channels] = {};
    for (std::size_t k = 0; k < count; ++k, pixel += Channels)
      for (std::size_t c = 0; c < Channels; ++c) sums[c] += weights[k] * pixel[c];
    for (std::size_t c = 0; c < Channels; ++c) to[c] = byte_of_sum(sums[c]);
  }
}

// One row of `count` bytes from `rows` rows that follow one another; `sums` is memory for as many numbers.
inline void resample_column(const std::uint8_t* from, std::uint8_t* to, const std::int32_t* weights, std::int32_t* sums,
                            std::size_t count, std::size_t rows) {
  for (std::size_t i = 0; i < count; ++i) sums[i] = 0;
  for (std::size_t k = 0; k < rows; ++k, from += count) {
    const std::int32_t weight = weights[k];
    for (std::size_t i = 0; i < count; ++i) sums[i] += weight * from[i];
  }
  for (std::size_t i = 0; i < count; ++i) to[i] = byte_of_sum(sums[i]);
}

CAIRN_KERNELS_END

// Resamples along the width, then along the height, with bytes between them.
inline decoded_image resampled_image(const decoded_image& image, const resampled_axis& down, const resampled_axis& across) {
  const std::size_t height = down.firsts.size(), width = across.firsts.size(), channels = image.channels;
  const std::size_t top = down.begin(), rows = down.end() - top;
  std::vector<std::uint8_t> narrow(rows * width * channels);
  const auto row = channels == 1 ? resample_row<1> : resample_row<3>;
  for (std::size_t y = 0; y < rows; ++y)
    row(image.pixels.data() + (top + y) * image.width * channels, narrow.data() + y * width * channels, across.firsts.data(),
        across.counts.data(), across.weights.data(), width, across.most);
  decoded_image out{height, width, channels, std::vector<std::uint8_t>(height * width * channels)};
  std::vector<std::int32_t> sums(width * channels);
  for (std::size_t y = 0; y < height; ++y)
    resample_column(narrow.data() + (down.firsts[y] - top) * width * channels, out.pixels.data() + y * width * channels,
                    down.weights.data() + y * down.most, sums.data(), width * channels, down.counts[y]);
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
