// SPDX-License-Identifier: MIT
#include <cairn/ops/positions/cpu.hpp>
#include <cairn/ops/positions/positions.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"
#include "../narrow.hpp"

namespace positions_positions_tests {

using namespace cairn;

TEST_CASE("positions: every sample gets the table, and its gradient is the sum over samples, for any number of threads") {
  constexpr std::size_t samples = 37, count = 700, whole = 731;
  const auto x = steps<float>(-3, 4, samples * count), table = steps<float>(5, -2, count);
  std::vector<double> sums(whole);
  for (std::size_t i = 0; i < samples * count; ++i) sums[i % count] += static_cast<double>(x[i]);
  std::vector<float> first;
  for (const std::size_t threads : {1U, 2U, 3U}) {
    cpu device({.threads = threads});
    std::vector<float> y(samples * count), gradient(whole, 9.0F);
    add_positions(device.compute(), samples, count, y.data(), x.data(), table.data());
    for (std::size_t i = 0; i < y.size(); ++i) REQUIRE(y[i] == x[i] + table[i % count]);
    positions_gradient(device.compute(), samples, count, whole, gradient.data(), x.data());
    for (std::size_t i = 0; i < count; ++i) CHECK(gradient[i] == doctest::Approx(sums[i]).epsilon(1e-6).scale(1));
    for (std::size_t i = count; i < whole; ++i) CHECK(gradient[i] == 0);
    if (threads == 1) first = gradient;
    CHECK(gradient == first);
  }
}

TEST_CASE("positions: a table of more than one part, and the output on the input") {
  constexpr std::size_t count = detail::element_part + 3;
  cpu device({.threads = 2});
  auto x = steps<double>(-3, 4, 2 * count);
  const auto before = x, table = steps<double>(5, -2, count);
  add_positions(device.compute(), 2, count, x.data(), x.data(), table.data());
  for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(x[i] == before[i] + table[i % count]);
}

// A single chain of floats would be off by 1e-3.
TEST_CASE("positions: the gradient over 100 000 equal samples") {
  constexpr std::size_t samples = 100'000;
  cpu device;
  const std::vector<float> dy(samples * 3, 0.1F);
  std::vector<float> gradient(3);
  positions_gradient(device.compute(), samples, 3, 3, gradient.data(), dy.data());
  for (const float sum : gradient) CHECK(sum == doctest::Approx(samples * static_cast<double>(0.1F)).epsilon(3e-7));
}

TEST_CASE("positions: sines of more than one strip of columns and more than one part of positions") {
  constexpr std::size_t length = 19, width = detail::strip + 37, samples = 2;
  const auto x = steps<double>(-3, 4, samples * length * width);
  for (const std::size_t threads : {1U, 3U}) {
    cpu device({.threads = threads});
    std::vector<double> y(x.size());
    add_sinusoids(device.compute(), samples, length, width, y.data(), x.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto j = i % width, t = i / width % length;
      const double angle =
          static_cast<double>(t) * std::pow(10000.0, -2 * static_cast<double>(j / 2) / static_cast<double>(width));
      REQUIRE(y[i] - x[i] == doctest::Approx(j % 2 == 0 ? std::sin(angle) : std::cos(angle)).epsilon(1e-12).scale(1));
    }
  }
}

TEST_CASE_TEMPLATE("positions: 16-bit elements are added in float and rounded once", T, bfloat16, float16) {
  constexpr std::size_t samples = 21, length = 5, width = 7, count = length * width;
  cpu device({.threads = 2});
  const auto x = narrow::normal<T>(samples * count, 1), table = narrow::normal<T>(count, 2);
  std::vector<T> own(samples * count);
  std::vector<float> wide(samples * count), own_sum(count + 2, 9.0F), wide_sum(count + 2, 9.0F);
  add_positions(device.compute(), samples, count, own.data(), x.own.data(), table.own.data());
  add_positions(device.compute(), samples, count, wide.data(), x.wide.data(), table.wide.data());
  CHECK(narrow::wrong(own, wide) == 0);
  add_sinusoids(device.compute(), samples, length, width, own.data(), x.own.data());
  add_sinusoids(device.compute(), samples, length, width, wide.data(), x.wide.data());
  CHECK(narrow::wrong(own, wide) == 0);
  positions_gradient(device.compute(), samples, count, count + 2, own_sum.data(), x.own.data());
  positions_gradient(device.compute(), samples, count, count + 2, wide_sum.data(), x.wide.data());
  CHECK(own_sum == wide_sum);
}

} // namespace positions_positions_tests
