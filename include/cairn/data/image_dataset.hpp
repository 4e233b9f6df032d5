// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/pixel_scale.hpp>
#include <cairn/data/pixel_value.hpp>

namespace cairn::vision {

// Labelled images (height, width, channels). Pixels and labels are kept as bytes, a quarter or an eighth of the memory of
// numbers; pixels become numbers of type T when a batch is made.
template <class T>
class image_dataset {
public:
  using input_type = T;
  using target_type = std::int32_t;

  // pixels (images, height, width, channels); labels (images). Throws input_error where the lengths do not fit.
  image_dataset(const shape& image, std::vector<std::uint8_t> pixels, std::vector<std::uint8_t> labels, pixel_scale scale = {})
      : image_dataset(image, std::move(pixels), std::move(labels), std::span<const pixel_scale>(&scale, 1)) {}

  // The same with a scale for each channel, which is the last extent of an image.
  template <std::size_t Channels>
  image_dataset(const shape& image, std::vector<std::uint8_t> pixels, std::vector<std::uint8_t> labels,
                const std::array<pixel_scale, Channels>& scales)
      : image_dataset(image, std::move(pixels), std::move(labels), std::span<const pixel_scale>(scales)) {
    static_assert(Channels > 0, "image_dataset: needs a scale");
    if (Channels > 1 && (image.rank == 0 || image[image.rank - 1] != Channels))
      throw input_error("image_dataset: expected images of " + std::to_string(Channels) +
                        " channels, one for each scale, found " + std::to_string(image.rank == 0 ? 0 : image[image.rank - 1]) +
                        " as the last extent of an image");
  }

  std::size_t size() const { return labels_.size(); }
  const shape& sample_shape() const { return image_; }
  static constexpr std::size_t targets_per_sample() { return 1; }

  void read(std::size_t index, std::span<T> input, std::span<target_type> target) const {
    values_.read(pixels_.data() + index * input.size(), input);
    target[0] = labels_[index];
  }

  // The value of a black pixel: transforms fill margins with it. And of a white one.
  pixel_value black() const { return values_.value_of(0); }
  pixel_value white() const { return values_.value_of(255); }

  std::span<const std::uint8_t> pixels() const { return pixels_; }
  std::span<const std::uint8_t> labels() const { return labels_; }

private:
  image_dataset(const shape& image, std::vector<std::uint8_t> pixels, std::vector<std::uint8_t> labels,
                std::span<const pixel_scale> scales)
      : image_(image), pixels_(std::move(pixels)), labels_(std::move(labels)), values_(scales, "image_dataset") {
    if (image.size() == 0 || pixels_.size() / image.size() != labels_.size() || pixels_.size() % image.size() != 0)
      throw input_error("image_dataset: expected " + std::to_string(image.size()) + " pixels for each of " +
                        std::to_string(labels_.size()) + " labels, found " + std::to_string(pixels_.size()) +
                        " pixels; check the shape of an image");
  }

  shape image_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint8_t> labels_;
  detail::scaled_pixels<T> values_;
};

} // namespace cairn::vision
