// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "../../examples/image_draws.hpp"

namespace image_draws_tests {

TEST_CASE("image_draws: other numbers for each seed, image and kind, within their bounds") {
  const auto first = [](std::uint64_t seed, std::uint64_t image, std::uint32_t kind) {
    return drawing::image_draws(seed, image, kind).uniform(0, 1);
  };
  const double here = first(1, 2, drawing::of_digits);
  CHECK(here == first(1, 2, drawing::of_digits));
  CHECK(here != first(2, 2, drawing::of_digits));
  CHECK(here != first(1, 3, drawing::of_digits));
  CHECK(here != first(1, 2, drawing::of_pictures));
  drawing::image_draws draws(0, 0, drawing::of_pictures);
  std::array<int, 5> seen{};
  for (int i = 0; i < 500; ++i) {
    const double number = draws.uniform(-2, 3);
    CHECK((number >= -2 && number < 3));
    const double small = draws.around(0.5);
    CHECK((small >= -0.5 && small < 0.5));
    ++seen.at(draws.below(5));
  }
  for (const int times : seen) CHECK(times > 60); // 100 expected, with a standard deviation of 9
}

TEST_CASE("with_grain adds noise of mean 0, and keeps to bytes") {
  const drawing::image_draws draws(0, 7, drawing::of_pictures);
  std::array<std::uint8_t, 1000> bytes{};
  const auto fill = [&](double grain, double value) {
    drawing::with_grain(draws, grain, bytes.data(), bytes.size(), [&](std::size_t) { return value; });
  };
  fill(0, 77);
  CHECK(std::ranges::all_of(bytes, [](int b) { return b == 77; }));
  fill(40, 100);
  double sum = 0;
  for (const int b : bytes) {
    CHECK((b >= 80 && b <= 120));
    sum += b;
  }
  CHECK(sum / 1000 == doctest::Approx(99.5).epsilon(0.02)); // cut off to whole numbers
  CHECK(*std::ranges::max_element(bytes) > 110);
  CHECK(*std::ranges::min_element(bytes) < 90);
  fill(100, 250); // would pass 255
  CHECK(std::ranges::count(bytes, 255) > 200);
  fill(100, 5);
  CHECK(std::ranges::count(bytes, 0) > 200);
}

} // namespace image_draws_tests
