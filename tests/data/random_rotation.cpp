// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cairn/data/random_rotation.hpp>
#include <cairn/data/transform.hpp>

#include "images.hpp"

namespace random_rotation_tests {

using namespace cairn;
using namespace cairn::detail;

static_assert(sample_transform<random_rotation, float> && sample_transform<random_rotation, double>);

TEST_CASE("random_rotation: torchvision's numbers without a fill, in every channel") {
  const std::vector<double> by_30{0.613708, 3.961784, 7.998798, 3.802645, 0.517949, 1.675799, 2.668671,
                                  4.882772, 6.68662,  1.106492, 6.417469, 3.673394, 3.466506, 4.480849,
                                  3.624443, 1.9702,   5.864909, 4.302646, 0.487976, 1.18413};
  const std::vector<double> by_100{1.52489,  6.508741, 5.069385, 3.768916, 0.416367, 0.32182,  2.587059,
                                   3.746281, 2.396837, 2.148441, 3.109621, 4.799371, 5.346713, 6.236076,
                                   2.854454, 1.484802, 3.016517, 4.534296, 6.394095, 2.148684};
  std::vector<double> image = testing::small_image();
  random_rotation::turn(std::span(image), {4, 5, 1}, 30, 0);
  testing::check_near(image, by_30, 1e-5);
  image = testing::small_image();
  random_rotation::turn(std::span(image), {4, 5, 1}, -100, 0);
  testing::check_near(image, by_100, 1e-5);
  image = testing::in_channels(testing::small_image(), 3);
  random_rotation::turn(std::span(image), {4, 5, 3}, 30, 0);
  testing::check_near(image, testing::in_channels(by_30, 3), 1e-5);

  // A fill is a pixel of the outside. (torchvision multiplies what it blends with a fill by its share once more.)
  image = testing::in_channels(testing::small_image(), 2);
  std::vector<double> moved = image;
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= i % 2 == 0 ? 5 : 7;
  random_rotation::turn(std::span(image), {4, 5, 2}, 30, {5, 7});
  random_rotation::turn(std::span(moved), {4, 5, 2}, 30, 0);
  for (std::size_t i = 0; i < moved.size(); ++i)
    CHECK(image[i] == doctest::Approx(moved[i] + (i % 2 == 0 ? 5 : 7)).epsilon(1e-12));
}

TEST_CASE("random_rotation: quarters of a turn move pixels, and nothing is lost") {
  std::vector<float> image{1, 2, 3, 4, 5, 6, 7, 8, 9};
  random_rotation::turn(std::span(image), {3, 3, 1}, 90, 0);
  for (std::size_t i = 0; i < 9; ++i)
    CHECK(image[i] == doctest::Approx(std::vector<float>{3, 6, 9, 2, 5, 8, 1, 4, 7}[i]).epsilon(1e-5));
}

TEST_CASE("random_rotation: the angle is drawn evenly, and depends on the key alone") {
  constexpr std::size_t rounds = 2000;
  double sum = 0, squares = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    // A ramp whose middle row says how far it was turned.
    std::vector<double> image(81);
    for (std::size_t i = 0; i < 81; ++i) image[i] = static_cast<double>(i / 9);
    std::vector<double> again = image;
    random_rotation{.degrees = 20}(std::span(image), shape{9, 9}, sample_key(1, round, 2));
    random_rotation{.degrees = 20}(std::span(again), shape{9, 9}, sample_key(1, round, 2));
    REQUIRE(image == again);
    const double angle = std::asin(image[41] - image[40]) * 180 / 3.14159265358979;
    REQUIRE(std::abs(angle) <= 20.001);
    sum += angle;
    squares += angle * angle;
  }
  CHECK(std::abs(sum / rounds) < 1.1); // four standard deviations of the mean
  CHECK(squares / rounds == doctest::Approx(20 * 20 / 3.0).epsilon(0.1));
}

TEST_CASE("random_rotation: what does not fit is an error") {
  std::vector<float> image(12);
  const random_key key{};
  CHECK_THROWS_WITH_AS(random_rotation{}(std::span(image), shape{12}, key),
                       doctest::Contains("random_rotation: expected images (height, width)"), input_error);
  CHECK_THROWS_WITH_AS((random_rotation{.degrees = 10, .fill = {1, 2}}(std::span(image), shape{2, 2, 3}, key)),
                       "random_rotation: expected a fill of one number, or one for each of the 3 channels of an image, found 2",
                       input_error);
  CHECK_THROWS_AS(random_rotation{.degrees = 181}(std::span(image), shape{3, 4}, key), input_error);
  CHECK_THROWS_AS(random_rotation{.degrees = -1}(std::span(image), shape{3, 4}, key), input_error);
}

} // namespace random_rotation_tests
