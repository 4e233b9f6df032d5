// SPDX-License-Identifier: MIT
#include <cairn/ops/rotation/cpu.hpp>
#include <cairn/ops/rotation/rotation.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"
#include "../narrow.hpp"

namespace rotation_rotation_tests {

using namespace cairn;

namespace {

constexpr std::size_t samples = 2;
constexpr ops::rotation small{.length = 19, .columns = 70, .heads = 3, .width = 20, .turned = 12, .base = 500};
constexpr ops::rotation wide_head{.length = 3, .columns = 1200, .heads = 1, .width = 1130, .turned = 1126, .base = 10000};

// One element after another, in double.
template <class T>
std::vector<double> rotated(const ops::rotation& how, const std::vector<T>& x) {
  std::vector<double> y(x.begin(), x.end());
  const std::size_t half = how.turned / 2;
  for (std::size_t row = 0; row < x.size() / how.columns; ++row)
    for (std::size_t head = 0; head < how.heads; ++head)
      for (std::size_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(row % how.length) *
                             std::pow(how.base, -2 * static_cast<double>(i) / static_cast<double>(how.turned));
        const std::size_t at = row * how.columns + head * how.width + i;
        const auto a = static_cast<double>(x[at]), b = static_cast<double>(x[at + half]);
        y[at] = a * std::cos(angle) - b * std::sin(angle);
        y[at + half] = a * std::sin(angle) + b * std::cos(angle);
      }
  return y;
}

} // namespace

TEST_CASE("rotation: pairs are turned by position and frequency, everything else is copied, for any number of threads") {
  for (const ops::rotation& how : {small, wide_head}) {
    const auto x = steps<float>(-3, 4, samples * how.length * how.columns);
    const auto expected = rotated(how, x);
    std::vector<float> first;
    for (const std::size_t threads : {1U, 2U, 3U}) {
      cpu device({.threads = threads});
      std::vector<float> y(x.size()), in_place = x, back(x.size());
      rotate(device.compute(), how, false, samples, y.data(), x.data());
      for (std::size_t i = 0; i < y.size(); ++i) REQUIRE(y[i] == doctest::Approx(expected[i]).epsilon(1e-6).scale(5));
      for (std::size_t i = 0; i < y.size(); ++i)
        if (i % how.columns >= how.heads * how.width) REQUIRE(y[i] == x[i]);
      rotate(device.compute(), how, false, samples, in_place.data(), in_place.data());
      CHECK(in_place == y);
      rotate(device.compute(), how, true, samples, back.data(), y.data());
      for (std::size_t i = 0; i < y.size(); ++i) REQUIRE(back[i] == doctest::Approx(x[i]).epsilon(1e-6).scale(5));
      if (threads == 1) first = y;
      CHECK(y == first);
    }
  }
}

TEST_CASE_TEMPLATE("rotation: 16-bit elements are turned in float and rounded once", T, bfloat16, float16) {
  cpu device({.threads = 2});
  for (const ops::rotation& how : {small, wide_head}) {
    const auto x = narrow::normal<T>(samples * how.length * how.columns, 1);
    std::vector<T> own(x.own.size());
    rotate(device.compute(), how, false, samples, own.data(), x.own.data());
    const auto expected = rotated(how, x.wide);
    CHECK(narrow::wrong(own, std::vector<float>(expected.begin(), expected.end()), 1e-6F) == 0);
  }
}

} // namespace rotation_rotation_tests
