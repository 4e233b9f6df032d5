// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include <cairn/data/random_shift.hpp>
#include <cairn/data/transform.hpp>

namespace random_shift_tests {

using namespace cairn;
using namespace cairn::detail;

static_assert(sample_transform<random_shift, float>);

namespace {

// Returns a copy of the image that is moved by the definition.
std::vector<float> moved(const std::vector<float>& image, std::ptrdiff_t height, std::ptrdiff_t width, std::ptrdiff_t channels,
                         std::ptrdiff_t down, std::ptrdiff_t right, float fill) {
  std::vector<float> result(image.size(), fill);
  for (std::ptrdiff_t y = 0; y < height; ++y)
    for (std::ptrdiff_t x = 0; x < width; ++x)
      for (std::ptrdiff_t c = 0; c < channels; ++c)
        if (y - down >= 0 && y - down < height && x - right >= 0 && x - right < width)
          result[static_cast<std::size_t>((y * width + x) * channels + c)] =
              image[static_cast<std::size_t>(((y - down) * width + x - right) * channels + c)];
  return result;
}

} // namespace

TEST_CASE("random_shift moves by every shift that it may, equally often, and by no other") {
  for (const shape& extents : {shape{5, 4, 1}, shape{4, 5, 3}, shape{6, 3}}) {
    const auto height = static_cast<std::ptrdiff_t>(extents[0]);
    const auto width = static_cast<std::ptrdiff_t>(extents[1]);
    const auto channels = static_cast<std::ptrdiff_t>(extents.rank == 3 ? extents[2] : 1);
    std::vector<float> image(extents.size());
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i + 1);
    std::map<std::vector<float>, int> seen;
    constexpr int rounds = 2500;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      auto copy = image;
      random_shift{.pixels = 2, .fill = -1}(std::span<float>(copy), extents, sample_key(1, round, 2));
      ++seen[copy];
    }
    CHECK(seen.size() == 25);
    for (std::ptrdiff_t down = -2; down <= 2; ++down)
      for (std::ptrdiff_t right = -2; right <= 2; ++right) {
        const int times = seen[moved(image, height, width, channels, down, right, -1)];
        CHECK(times > 50); // 100 expected, with a standard deviation of 10
        CHECK(times < 150);
      }
  }
}

TEST_CASE("random_shift may move an image out of sight") {
  std::vector<double> image(4, 5.0);
  const shape extents{2, 2};
  bool gone = false;
  for (std::uint64_t round = 0; round < 50; ++round) {
    auto copy = image;
    random_shift{.pixels = 9, .fill = 0}(std::span<double>(copy), extents, sample_key(0, round, 0));
    gone = gone || copy == std::vector<double>(4, 0.0);
  }
  CHECK(gone);
}

TEST_CASE("random_shift of no pixels changes nothing, and depends on its key alone") {
  const shape extents{3, 3};
  std::vector<float> image{1, 2, 3, 4, 5, 6, 7, 8, 9};
  auto copy = image;
  random_shift{.pixels = 0}(std::span<float>(copy), extents, sample_key(1, 2, 3));
  CHECK(copy == image);
  auto first = image;
  auto second = image;
  random_shift{}(std::span<float>(first), extents, sample_key(1, 2, 3));
  random_shift{}(std::span<float>(second), extents, sample_key(1, 2, 3));
  CHECK(first == second);
}

TEST_CASE("random_shift fills each channel with what a black pixel is there") {
  std::vector<float> image(8, 5.0F);
  bool gone = false;
  for (std::uint64_t round = 0; round < 50; ++round) {
    auto copy = image;
    random_shift{.pixels = 9, .fill = {-1, -2}}(std::span<float>(copy), shape{2, 2, 2}, sample_key(0, round, 0));
    gone = gone || copy == std::vector<float>{-1, -2, -1, -2, -1, -2, -1, -2};
  }
  CHECK(gone);
}

TEST_CASE("random_shift throws for what is no image") {
  std::vector<float> numbers(4);
  CHECK_THROWS_WITH_AS(random_shift{}(std::span<float>(numbers), shape{4}, random_key{}),
                       doctest::Contains("found samples of rank 1"), input_error);
}

} // namespace random_shift_tests
