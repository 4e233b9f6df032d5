// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <cairn/data/random_horizontal_flip.hpp>
#include <cairn/data/transform.hpp>

namespace random_horizontal_flip_tests {

using namespace cairn;
using namespace cairn::detail;

static_assert(sample_transform<random_horizontal_flip, float> && sample_transform<random_horizontal_flip, double>);

namespace {

std::vector<float> numbered(std::size_t count) {
  std::vector<float> image(count);
  for (std::size_t i = 0; i < count; ++i) image[i] = static_cast<float>(i);
  return image;
}

} // namespace

TEST_CASE("random_horizontal_flip mirrors every line, and twice is nothing") {
  for (const shape& extents : {shape{3, 4, 3}, shape{2, 5, 2}, shape{4, 3}, shape{3, 1, 3}}) {
    const std::size_t width = extents[1], channels = extents.rank == 3 ? extents[2] : 1;
    const auto image = numbered(extents.size());
    auto mirrored = image;
    const random_horizontal_flip always{.probability = 1};
    always(std::span<float>(mirrored), extents, sample_key(1, 2, 3));
    for (std::size_t y = 0; y < extents[0]; ++y)
      for (std::size_t x = 0; x < width; ++x)
        for (std::size_t c = 0; c < channels; ++c)
          CHECK(mirrored[(y * width + x) * channels + c] == image[(y * width + width - 1 - x) * channels + c]);
    always(std::span<float>(mirrored), extents, sample_key(1, 2, 3));
    CHECK(mirrored == image);
  }
}

TEST_CASE("random_horizontal_flip comes as often as its probability says, and the same of the same key") {
  const shape extents{1, 2, 1};
  const auto image = numbered(2);
  const auto flips = [&](double probability) {
    int count = 0;
    for (std::uint64_t round = 0; round < 1000; ++round) {
      auto copy = image, again = image;
      random_horizontal_flip{probability}(std::span<float>(copy), extents, sample_key(5, round, round % 7));
      random_horizontal_flip{probability}(std::span<float>(again), extents, sample_key(5, round, round % 7));
      CHECK(copy == again);
      count += copy == image ? 0 : 1;
    }
    return count;
  };
  CHECK(flips(0) == 0);
  CHECK(flips(1) == 1000);
  CHECK(flips(0.5) > 420); // 500 expected, with a standard deviation of 16
  CHECK(flips(0.5) < 580);
  CHECK(flips(0.1) > 50); // 100 expected, with a standard deviation of 9.5
  CHECK(flips(0.1) < 150);
}

TEST_CASE("random_horizontal_flip throws for what is no image, and for what is no probability") {
  std::vector<float> numbers(4);
  CHECK_THROWS_WITH_AS(random_horizontal_flip{}(std::span<float>(numbers), shape{4}, random_key{}),
                       doctest::Contains("found samples of rank 1"), input_error);
  for (const double wrong : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_WITH_AS(random_horizontal_flip{wrong}(std::span<float>(numbers), shape{2, 2}, random_key{}),
                         doctest::Contains("expected a probability from 0 to 1"), input_error);
}

} // namespace random_horizontal_flip_tests
