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
#include <cairn/core/shape.hpp>

namespace cairn {

// What a pixel p in 0 … 255 becomes: (p / 255 - mean) / deviation. With the mean and the deviation of the training
// images, the network sees numbers of mean 0 and variance 1.
struct pixel_scale {
  double mean = 0;
  double deviation = 1;
};

// Labelled images (height, width, channels). Pixels and labels stay bytes, an eighth or a quarter of the memory of
// numbers; a pixel becomes a number of type T when a batch is made.
template <class T>
class image_dataset {
public:
  using input_type = T;
  using target_type = std::int32_t;

  // pixels (images, height, width, channels); labels (images). Throws input_error where the lengths do not fit.
  image_dataset(const shape& image, std::vector<std::uint8_t> pixels, std::vector<std::uint8_t> labels, pixel_scale scale = {})
      : image_(image), pixels_(std::move(pixels)), labels_(std::move(labels)) {
    if (image.size() == 0 || pixels_.size() / image.size() != labels_.size() || pixels_.size() % image.size() != 0)
      throw input_error("image_dataset: expected " + std::to_string(image.size()) + " pixels for each of " +
                        std::to_string(labels_.size()) + " labels, found " + std::to_string(pixels_.size()) +
                        " pixels; check the shape of an image");
    if (!(scale.deviation > 0))
      throw input_error("image_dataset: expected a positive deviation, found " + std::to_string(scale.deviation));
    for (std::size_t p = 0; p < values_.size(); ++p)
      values_[p] = static_cast<T>((static_cast<double>(p) / 255 - scale.mean) / scale.deviation);
  }

  std::size_t size() const { return labels_.size(); }
  const shape& sample_shape() const { return image_; }
  static constexpr std::size_t targets_per_sample() { return 1; }

  // Looks values up instead of computing them, so that they are the same bits whatever a compiler contracts.
  void read(std::size_t index, std::span<T> input, std::span<target_type> target) const {
    const std::uint8_t* const first = pixels_.data() + index * input.size();
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = values_[first[i]];
    target[0] = labels_[index];
  }

  // What a transform fills the margin with: the number that a black pixel becomes.
  T black() const { return values_[0]; }

  std::span<const std::uint8_t> pixels() const { return pixels_; }
  std::span<const std::uint8_t> labels() const { return labels_; }

private:
  shape image_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint8_t> labels_;
  std::array<T, 256> values_{};
};

} // namespace cairn
