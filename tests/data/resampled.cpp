// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <cairn/data/resampled.hpp>

namespace resampled_tests {

using namespace cairn;
using namespace cairn::detail;

TEST_CASE("resampled: between pixels it is linear, and what is outside has a part") {
  std::vector<double> image{1, 2, 3, 4};
  const auto half_right = [](std::size_t y, std::size_t x) {
    return std::pair{static_cast<double>(y), static_cast<double>(x) + 0.5};
  };
  resample(std::span(image), {2, 2, 1}, half_right, [](std::size_t) { return 10.0; });
  CHECK(image == std::vector<double>{1.5, 6, 3.5, 7});
  const auto far = [](std::size_t, std::size_t) { return std::pair{-1e6, 1e6}; };
  resample(std::span(image), {2, 2, 1}, far, [](std::size_t) { return 7.0; });
  CHECK(image == std::vector<double>(4, 7));
}

} // namespace resampled_tests
