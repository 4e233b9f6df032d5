// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/image_part.hpp>
#include <cairn/data/permutation.hpp>
#include <cairn/data/pixel_value.hpp>

namespace cairn::vision {

// Moves an image (height, width) or (height, width, channels) by up to `pixels` in each direction, every shift equally
// likely, and fills the uncovered margin with `fill`, usually the dataset's black(). Models sample_transform. Throws
// input_error for a sample of another rank, and for a fill of another number of channels.
struct random_shift {
  std::size_t pixels = 2;
  pixel_value fill = 0;

  template <class T>
  void operator()(std::span<T> sample, const shape& image, const types::random_key& key) const {
    move_at_random(sample, image, key, pixels, fill, "random_shift");
  }

private:
  friend struct random_crop; // the same by torchvision's name

  template <class T>
  static void move_at_random(std::span<T> sample, const shape& image, const types::random_key& key, std::size_t pixels,
                             const pixel_value& fill, const char* whose) {
    static_assert(std::is_trivially_copyable_v<T>);
    detail::extents_of_image(image, whose);
    const auto block = ops::random_block(key, 0);
    const auto draw = [&](std::size_t first) {
      const std::uint64_t bits = (std::uint64_t{block[first]} << 32) | block[first + 1];
      return static_cast<std::ptrdiff_t>(detail::random_below(bits, 2 * pixels + 1)) - static_cast<std::ptrdiff_t>(pixels);
    };
    const std::ptrdiff_t down = draw(0);
    const std::ptrdiff_t right = draw(2);
    move(sample.data(), image, down, right, fill);
  }

  template <class T>
  static void move(T* first, const shape& image, std::ptrdiff_t down, std::ptrdiff_t right, const pixel_value& background) {
    const auto height = static_cast<std::ptrdiff_t>(image[0]);
    const auto channels = static_cast<std::ptrdiff_t>(image.rank == 3 ? image[2] : 1);
    const auto line = static_cast<std::ptrdiff_t>(image[1]) * channels;
    const std::ptrdiff_t offset = std::clamp(right * channels, -line, line);
    const std::ptrdiff_t kept = line - (offset < 0 ? -offset : offset);
    const bool one_number = background.size() == 1;
    const T number = static_cast<T>(background[0]);
    const auto fill = [&](T* to, std::ptrdiff_t count) {
      if (one_number) std::fill_n(to, count, number);
      else background.fill(to, static_cast<std::size_t>(count), static_cast<std::size_t>(channels));
    };
    for (std::ptrdiff_t k = 0; k < height; ++k) {
      const std::ptrdiff_t y = down > 0 ? height - 1 - k : k; // a line is written only after it was read
      T* const to = first + y * line;
      if (y - down < 0 || y - down >= height) {
        fill(to, line);
        continue;
      }
      const T* const from = first + (y - down) * line;
      std::memmove(to + std::max<std::ptrdiff_t>(offset, 0), from + std::max<std::ptrdiff_t>(-offset, 0),
                   static_cast<std::size_t>(kept) * sizeof(T));
      fill(offset > 0 ? to : to + kept, line - kept);
    }
  }
};

} // namespace cairn::vision
