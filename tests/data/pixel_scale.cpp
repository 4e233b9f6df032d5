// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/data/pixel_scale.hpp>

namespace pixel_scale_tests {

using namespace cairn;

TEST_CASE_TEMPLATE("pixel_scale: bytes of 1, 2 and 3 channels are scaled by the scale of their channel", T, float, double) {
  const std::vector<vision::pixel_scale> three{{0.25, 0.5}, {0.5, 0.25}, {0, 2}};
  const std::array<std::uint8_t, 6> bytes{0, 51, 102, 153, 204, 255};
  for (std::size_t channels = 1; channels <= 3; ++channels) {
    const detail::scaled_pixels<T> values(std::span<const vision::pixel_scale>(three.data(), channels), "test");
    std::array<T, 6> numbers{};
    values.read(bytes.data(), numbers);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const vision::pixel_scale& scale = three[i % channels];
      CHECK(numbers[i] == static_cast<T>((bytes[i] / 255.0 - scale.mean) / scale.deviation));
    }
    CHECK(values.value_of(255).size() == channels);
    CHECK(values.value_of(255)[0] == static_cast<T>(1.5));
  }
}

TEST_CASE("pixel_scale: a deviation must be positive") {
  const std::vector<vision::pixel_scale> wrong{{}, {0, -1}};
  CHECK_THROWS_WITH_AS(detail::scaled_pixels<float>(wrong, "test"), doctest::Contains("test: expected a positive deviation"),
                       input_error);
}

} // namespace pixel_scale_tests
