// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::types {

// Options of vision::read_image, by name.
struct image_options {
  std::size_t channels = 3;                       // 3: red, green and blue; 1: grey
  std::size_t most_pixels = std::size_t{1} << 27; // height x width; an image that claims more is refused unread
};

// An image that was read: bytes 0 … 255 as (height, width, channels), as all images lie in this library.
struct decoded_image {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;
  std::vector<std::uint8_t> pixels;
};

} // namespace cairn::types

namespace cairn::detail {

// Extents as people write them: "3 x 4".
inline std::string words_of_extents(std::uint64_t height, std::uint64_t width) {
  return std::to_string(height) + " x " + std::to_string(width);
}

inline void check_decoded(const decoded_image& image, const char* whose) {
  const bool fits = image.height != 0 && image.width != 0 && (image.channels == 1 || image.channels == 3) &&
                    image.pixels.size() / image.height / image.width == image.channels &&
                    image.pixels.size() == image.height * image.width * image.channels;
  if (!fits)
    throw input_error(std::string(whose) + ": expected the bytes of (" + words_of_extents(image.height, image.width) + " x " +
                      std::to_string(image.channels) + "), at least one, with 1 or 3 channels, found " +
                      std::to_string(image.pixels.size()));
}

} // namespace cairn::detail
