// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::vision {

// The value of a pixel: one number for all of its channels, or one for each. An image_dataset gives that of a black pixel
// (black()), a transform fills with it: .fill = 0, .fill = {-1.99, -1.98, -1.71}, .fill = data.train.black().
class pixel_value {
public:
  pixel_value(double every_channel = 0) : channels_{every_channel} {}
  pixel_value(std::initializer_list<double> channels) : channels_(channels) { check(); }
  pixel_value(std::vector<double> channels) : channels_(std::move(channels)) { check(); }

  bool operator==(const pixel_value&) const = default;

  // How many numbers it has: 1, or as many as there are channels.
  std::size_t size() const { return channels_.size(); }
  double operator[](std::size_t channel) const { return channels_[channels_.size() == 1 ? 0 : channel]; }

  // Writes `count` numbers: whole pixels of `channels` numbers each. Throws input_error if this value has neither 1 nor
  // `channels` of them.
  template <class T>
  void fill(T* to, std::size_t count, std::size_t channels) const {
    if (channels_.size() == 1) {
      std::fill_n(to, count, static_cast<T>(channels_[0]));
      return;
    }
    check_channels(channels, "pixel_value: expected", "; take the black() of the dataset that is transformed");
    for (std::size_t i = 0; i < count; i += channels)
      for (std::size_t channel = 0; channel < channels; ++channel) to[i + channel] = static_cast<T>(channels_[channel]);
  }

  // Throws input_error if there is neither one number nor one for each channel of an image. Its text begins with `expected`.
  void check_channels(std::size_t channels, const char* expected, const char* advice = "") const {
    if (channels_.size() == 1 || channels_.size() == channels) return;
    throw input_error(std::string(expected) + " one number, or one for each of the " + std::to_string(channels) +
                      " channels of an image, found " + std::to_string(channels_.size()) + advice);
  }

private:
  void check() const {
    if (channels_.empty()) throw input_error("pixel_value: expected one number, or one for each channel, found none");
  }

  std::vector<double> channels_; // one, or one for each channel
};

} // namespace cairn::vision
