// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/pixel_value.hpp>

namespace cairn::vision {

// Maps a pixel p in 0 … 255 to (p / 255 - mean) / deviation. With the mean and the deviation of the training images, the
// network's inputs have mean 0 and variance 1.
struct pixel_scale {
  double mean = 0;
  double deviation = 1;
};

} // namespace cairn::vision

namespace cairn::detail {

// The number of type T that each byte of a pixel becomes, by one scale for all channels or by one for each. Values are looked up
// instead of computed, so that they have the same bits whatever operations a compiler contracts.
template <class T>
class scaled_pixels {
public:
  // Throws input_error, whose text begins with `whose`, for a deviation that is not positive.
  scaled_pixels(std::span<const pixel_scale> scales, const char* whose) {
    for (const pixel_scale& scale : scales) {
      if (!(scale.deviation > 0))
        throw input_error(std::string(whose) + ": expected a positive deviation, found " + std::to_string(scale.deviation));
      table& values = values_.emplace_back();
      for (std::size_t p = 0; p < values.size(); ++p)
        values[p] = static_cast<T>((static_cast<double>(p) / 255 - scale.mean) / scale.deviation);
    }
  }

  // Writes the numbers of to.size() bytes: whole pixels, channel after channel.
  void read(const std::uint8_t* from, std::span<T> to) const {
    const std::size_t channels = values_.size();
    const table* const values = values_.data();
    if (channels == 1)
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = values[0][from[i]];
    else if (channels == 3) // a constant number of channels is twice as fast
      read_channels<3>(from, to, values);
    else
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = values[i % channels][from[i]];
  }

  // The value of a pixel whose channels all have this byte.
  pixel_value value_of(std::uint8_t pixel) const {
    std::vector<double> channels;
    for (const auto& values : values_) channels.push_back(static_cast<double>(values[pixel]));
    return channels;
  }

private:
  using table = std::array<T, 256>; // the value of each byte

  template <std::size_t Channels>
  static void read_channels(const std::uint8_t* from, std::span<T> to, const table* values) {
    for (std::size_t i = 0; i < to.size(); i += Channels)
      for (std::size_t channel = 0; channel < Channels; ++channel) to[i + channel] = values[channel][from[i + channel]];
  }

  std::vector<table> values_; // one for all channels, or one for each
};

} // namespace cairn::detail
