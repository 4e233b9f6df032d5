// SPDX-License-Identifier: MIT
// Images for tests of transforms, and what torchvision 0.30 makes of the first.
#pragma once

#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

namespace testing {

// One channel, 4 x 5.
inline std::vector<double> small_image() {
  std::vector<double> image;
  for (std::size_t y = 0; y < 4; ++y)
    for (std::size_t x = 0; x < 5; ++x) image.push_back(static_cast<double>((y * 7 + x * 3 + y * x) % 11));
  return image;
}
// The same image in all channels, each times its number from 1 on.
inline std::vector<double> in_channels(const std::vector<double>& one, std::size_t channels) {
  std::vector<double> image;
  for (const double value : one)
    for (std::size_t c = 1; c <= channels; ++c) image.push_back(static_cast<double>(c) * value);
  return image;
}
inline void check_near(const std::vector<double>& found, const std::vector<double>& expected, double most) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(most));
}

} // namespace testing
