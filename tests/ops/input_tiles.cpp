// SPDX-License-Identifier: MIT
#include <cairn/ops/input_tiles.hpp>

#include <cstddef>
#include <span>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <doctest/doctest.h>

namespace input_tiles_tests {

using namespace cairn;

namespace {

constexpr ops::window over{.y = {.in = 5, .out = 5}, .x = {.in = 7, .out = 7}};
constexpr std::size_t channels = 6, count = 4; // the last four of six channels
float value_of(std::size_t pixel) { return 1 + static_cast<float>(pixel + 1) * 0x1p-7F; }

// Adds what value_of(pixel) says, tile by tile, in a scratch for so many pixels. Returns the number of tiles.
template <class T>
std::size_t fill(std::vector<T>& gradients, std::size_t pixels) {
  std::vector<float> scratch(pixels * count);
  std::size_t tiles = 0;
  detail::for_each_input_tile(over, channels, count, gradients.data() + 2, std::as_writable_bytes(std::span{scratch}),
                              [&](const detail::input_tile<float>& tile) {
                                ++tiles;
                                for (std::size_t r = tile.row_begin; r < tile.row_end; ++r)
                                  for (std::size_t c = tile.column_begin; c < tile.column_end; ++c) {
                                    CHECK(tile.has(r, c));
                                    for (std::size_t k = 0; k < count; ++k) {
                                      float& sum = tile.at(r, c)[k]; // bfloat16 would lose each half of the last place
                                      sum += 1 + static_cast<float>(r * over.x.in + c) * 0x1p-7F;
                                      for (int half = 0; half < 2; ++half) sum += 0x1p-8F;
                                    }
                                  }
                              });
  return tiles;
}

} // namespace

TEST_CASE("input tiles: they cover every input once, and leave other channels as they are") {
  std::vector<float> wide(over.inputs() * channels, -3.0F);
  CHECK(fill(wide, 0) == 1); // where they belong
  for (std::size_t pixel = 0; pixel < over.inputs(); ++pixel)
    for (std::size_t k = 0; k < channels; ++k) CHECK(wide[pixel * channels + k] == (k < 2 ? -3.0F : value_of(pixel)));
}

TEST_CASE("input tiles: sums of 16 bits are rounded once, in as many tiles as the scratch needs") {
  for (const std::size_t pixels : {35U, 34U, 8U, 7U, 3U, 1U}) {
    std::vector<bfloat16> narrow(over.inputs() * channels, bfloat16(-3.0F));
    CHECK(fill(narrow, pixels) == (pixels == 35 ? 1U : pixels == 34 ? 2U : pixels >= 7 ? 5U : pixels == 3 ? 15U : 35U));
    for (std::size_t pixel = 0; pixel < over.inputs(); ++pixel)
      for (std::size_t k = 0; k < channels; ++k) CHECK(narrow[pixel * channels + k] == bfloat16(k < 2 ? -3.0F : value_of(pixel)));
  }
}

} // namespace input_tiles_tests
