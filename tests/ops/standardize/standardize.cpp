// SPDX-License-Identifier: MIT
#include <cairn/ops/standardize/cpu.hpp>
#include <cairn/ops/standardize/formula.hpp>
#include <cairn/ops/standardize/standardize.hpp>

#include <array>
#include <cstddef>
#include <vector>

#include <cairn/ops/elementwise/cuts.hpp>
#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"
#include "../narrow.hpp"

namespace standardize_standardize_tests {

using namespace cairn;

// Rows of one feature, of few that are repeated, of as many as just are, of those that are not, and of several strips.
TEST_CASE_TEMPLATE("standardize: every element is its formula, bit for bit, on any number of threads and in place", T, float,
                   double) {
  for (const std::size_t features :
       {std::size_t{1}, std::size_t{3}, std::size_t{37}, detail::strip / 2, detail::strip / 2 + 1, 2 * detail::strip + 7})
    for (const std::size_t rows : {0U, 1U, 700U}) {
      CAPTURE(features);
      const auto x = steps<T>(-3, 4, rows * features + 2), mean = steps<T>(-2, 5, features + 1),
                 deviation = steps<T>(0.3, 9, features + 1);
      for (const std::size_t threads : {1U, 3U}) {
        cpu device({.threads = threads});
        std::vector<T> y(x.size(), T{7}), dx(x.size(), T{7}), same = x;
        standardize(device.compute(), rows, features, y.data(), x.data(), mean.data(), deviation.data());
        standardize_backward(device.compute(), rows, features, dx.data(), x.data(), deviation.data());
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < rows * features; ++i) {
          const std::size_t j = i % features;
          wrong += y[i] != (x[i] - mean[j]) / deviation[j] || dx[i] != x[i] / deviation[j];
        }
        CHECK(wrong == 0);
        CHECK(y[rows * features] == 7); // nothing after the last row is written
        CHECK(dx[rows * features] == 7);
        standardize(device.compute(), rows, features, same.data(), same.data(), mean.data(), deviation.data());
        y.resize(rows * features), same.resize(rows * features);
        CHECK(same == y);
      }
    }
}

TEST_CASE("standardize: bits of an element do not depend on its place") {
  const auto x = steps<float>(-3, 4, 37), mean = steps<float>(-2, 5, 37), deviation = steps<float>(0.3, 9, 37);
  CHECK(bits_ignore_cuts<1>(detail::center_and_divide{}, std::array{x, mean, deviation}));
  CHECK(bits_ignore_cuts<1>(detail::divide_gradient{}, std::array{x, deviation}));
}

TEST_CASE_TEMPLATE("standardize: 16-bit elements are computed in float and rounded once", T, bfloat16, float16) {
  for (const std::size_t features : {std::size_t{3}, detail::strip + 5}) {
    constexpr std::size_t rows = 21;
    cpu device({.threads = 2});
    const auto x = narrow::normal<T>(rows * features, 1);
    const auto mean = steps<float>(-2, 5, features), deviation = steps<float>(0.3, 9, features);
    std::vector<T> own(rows * features);
    std::vector<float> wide(rows * features);
    standardize(device.compute(), rows, features, own.data(), x.own.data(), mean.data(), deviation.data());
    standardize(device.compute(), rows, features, wide.data(), x.wide.data(), mean.data(), deviation.data());
    CHECK(narrow::wrong(own, wide) == 0);
    standardize_backward(device.compute(), rows, features, own.data(), x.own.data(), deviation.data());
    standardize_backward(device.compute(), rows, features, wide.data(), x.wide.data(), deviation.data());
    CHECK(narrow::wrong(own, wide) == 0);
  }
}

} // namespace standardize_standardize_tests
