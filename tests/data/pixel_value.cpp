// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <vector>

#include <cairn/data/pixel_value.hpp>

namespace pixel_value_tests {

using namespace cairn;

TEST_CASE("pixel_value is one number for all channels, or one for each") {
  std::vector<float> numbers(7, 9);
  vision::pixel_value(0.5).fill(numbers.data(), 6, 2);
  CHECK(numbers == std::vector<float>{0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 9});
  vision::pixel_value{1, 2, 3}.fill(numbers.data(), 6, 3);
  CHECK(numbers == std::vector<float>{1, 2, 3, 1, 2, 3, 9});
  vision::pixel_value(std::vector{4.0, 5.0}).fill(numbers.data(), 0, 2);
  CHECK(numbers[0] == 1);
  CHECK(vision::pixel_value(2).size() == 1);
  CHECK(vision::pixel_value{1, 2}.size() == 2);
  CHECK(vision::pixel_value(2)[1] == 2);
  CHECK(vision::pixel_value{1, 2}[1] == 2);
  CHECK(vision::pixel_value() == vision::pixel_value{0});
  CHECK_FALSE(vision::pixel_value(1) == vision::pixel_value{1, 1});
}

TEST_CASE("pixel_value throws for other channels than an image has") {
  std::vector<double> numbers(6);
  const vision::pixel_value two{1, 2};
  CHECK_THROWS_WITH_AS(two.fill(numbers.data(), 6, 3),
                       doctest::Contains("one for each of the 3 channels of an image, found 2; take the black()"), input_error);
  CHECK_THROWS_AS(vision::pixel_value(std::vector<double>{}), input_error);
}

} // namespace pixel_value_tests
