// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/core/random.hpp>

// The number of images to draw, and their seed: equal options give equal images from one program (a compiler that fuses
// multiplications and additions may move a pixel by one).
struct generated_options {
  std::size_t train = 9000;
  std::size_t test = 1000;
  std::uint64_t seed = 0;
};

namespace drawing {

// Keeps these random numbers apart from the weights that a trainer draws from the same seed.
inline constexpr std::uint64_t purpose = 0xE37A90C54D12F86BU;

// The kinds of image that draw from the same seed.
inline constexpr std::uint32_t of_digits = 2;
inline constexpr std::uint32_t of_pictures = 3;

// The random numbers of one image, one after another.
class image_draws {
public:
  image_draws(std::uint64_t seed, std::uint64_t image, std::uint32_t kind)
      : key_{.seed = seed ^ purpose, .step = image, .position = kind} {}

  double uniform(double low, double high) { return low + (high - low) * cairn::ops::random_uniform<double>(key_, index_++); }
  double around(double width) { return (uniform(-width, width) + uniform(-width, width)) / 2; } // more often small
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>((std::uint64_t{cairn::ops::random_bits(key_, index_++)} * bound) >> 32);
  }
  // Sixteen bytes of the grain of an image.
  std::array<std::uint32_t, 4> noise(std::uint64_t block) const { return cairn::ops::random_block(key_, (1U << 16) + block); }

private:
  cairn::types::random_key key_;
  std::uint64_t index_ = 0;
};

// Adds grain, up to half of `grain` in each direction, to numbers of 0 … 255 and makes bytes of them; value(i) is number i.
template <class Value>
void with_grain(const image_draws& draws, double grain, std::uint8_t* bytes, std::size_t count, Value value) {
  std::array<std::uint32_t, 4> block{};
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 16 == 0) block = draws.noise(i / 16); // a block serves 16 numbers
    const double random = (block[i % 16 / 4] >> (i % 4 * 8) & 0xFFU) / 255.0 - 0.5;
    const double all = value(i) + grain * random;
    bytes[i] = static_cast<std::uint8_t>(all < 0 ? 0 : all > 255 ? 255 : all);
  }
}

} // namespace drawing
