// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cairn/data/random_erasing.hpp>
#include <cairn/data/transform.hpp>

namespace random_erasing_tests {

using namespace cairn;
using namespace cairn::detail;

static_assert(sample_transform<random_erasing, float> && sample_transform<random_erasing, double>);

TEST_CASE("random_erasing: fills one rectangle within its ranges, as often as it should, and nothing else") {
  constexpr std::size_t rounds = 1000, side = 20;
  std::size_t erased = 0;
  double smallest = 1, largest = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::vector<float> image(side * side * 3, 1.F);
    random_erasing{.probability = 0.5, .fill = {-1, -2, -3}}(std::span(image), shape{side, side, 3}, sample_key(2, round, 3));
    std::size_t top = side, bottom = 0, left = side, right = 0, pixels = 0;
    for (std::size_t y = 0; y < side; ++y)
      for (std::size_t x = 0; x < side; ++x) {
        const float* const at = &image[(y * side + x) * 3];
        if (at[0] == 1) {
          REQUIRE((at[1] == 1 && at[2] == 1));
          continue;
        }
        REQUIRE((at[0] == -1 && at[1] == -2 && at[2] == -3));
        ++pixels;
        top = std::min(top, y), bottom = std::max(bottom, y), left = std::min(left, x), right = std::max(right, x);
      }
    if (pixels == 0) continue;
    ++erased;
    REQUIRE(pixels == (bottom - top + 1) * (right - left + 1));
    const double share = static_cast<double>(pixels) / (side * side);
    smallest = std::min(smallest, share), largest = std::max(largest, share);
  }
  CHECK(erased > 430); // 500, with a standard deviation of 16
  CHECK(erased < 570);
  CHECK(smallest < 0.06);
  CHECK(smallest > 0.01); // extents are rounded
  CHECK(largest > 0.28);
  CHECK(largest < 0.37);
}

TEST_CASE("random_erasing: a square of Cutout is at every place, and depends on the key alone") {
  const random_erasing cutout{.probability = 1, .area = {0.25, 0.25}, .ratio = {1, 1}};
  std::vector<int> seen(64);
  for (std::uint64_t round = 0; round < 300; ++round) {
    std::vector<double> image(64, 5), again = image;
    cutout(std::span(image), shape{8, 8}, sample_key(1, round, 1));
    cutout(std::span(again), shape{8, 8}, sample_key(1, round, 1));
    REQUIRE(image == again);
    REQUIRE(std::count(image.begin(), image.end(), 0) == 16);
    for (std::size_t i = 0; i < 64; ++i) seen[i] += image[i] == 0 ? 1 : 0;
  }
  CHECK(std::count(seen.begin(), seen.end(), 0) == 0);
}

TEST_CASE("random_erasing: what does not fit is an error") {
  std::vector<float> image(12);
  const random_key key{};
  CHECK_THROWS_WITH_AS(random_erasing{}(std::span(image), shape{12}, key),
                       doctest::Contains("random_erasing: expected images (height, width)"), input_error);
  CHECK_THROWS_WITH_AS(random_erasing{.probability = 1.5}(std::span(image), shape{3, 4}, key),
                       "random_erasing: expected a probability from 0 to 1, found 1.500000", input_error);
  CHECK_THROWS_AS((random_erasing{.area = {0.5, 0.2}}(std::span(image), shape{3, 4}, key)), input_error);
  CHECK_THROWS_AS((random_erasing{.probability = 1, .area = {0.5, 0.5}, .ratio = {1, 1}, .fill = {1, 2}}(std::span(image),
                                                                                                         shape{2, 2, 3}, key)),
                  input_error);
}

} // namespace random_erasing_tests
