// SPDX-License-Identifier: MIT
#include <cairn/ops/max_pool2d/cpu.hpp>
#include <cairn/ops/max_pool2d/max_pool2d.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <doctest/doctest.h>

#include "../narrow.hpp"

namespace max_pool2d_max_pool2d_tests {

using namespace cairn;

namespace {

constexpr ops::window several[] = {
    {ops::fitted({4, 0, 2, 2}), ops::fitted({5, 0, 2, 2})},                         // side by side, one column is not covered
    {ops::fitted({6, 0, 3, 2, 1}), ops::fitted({7, 0, 3, 1, 1})},                   // overlapping, with padding
    {ops::fitted({8, 0, 2, 3, 1, 3}), ops::fitted({5, 0, 3, 1, 0, 2})},             // dilations
    {ops::fitted({6, 0, 3, 2, 0, 1}, true), ops::fitted({5, 0, 2, 2, 1, 1}, true)}, // windows beyond the padded input
};

// Elements with few different values, so that there are ties.
template <class T>
std::vector<T> some(std::size_t count, std::size_t different) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<T>(static_cast<float>(i * i * 7 % 1009 % different) - 2);
  return result;
}

template <class T>
struct passes {
  std::vector<T> y, dx;
  bool operator==(const passes&) const = default;
};
template <class T>
passes<T> run(const ops::window& over, std::size_t samples, std::size_t channels, const std::vector<T>& x,
              const std::vector<T>& dy, std::size_t threads) {
  cpu device({.threads = threads});
  passes<T> r{std::vector<T>(samples * over.outputs() * channels, T(-7.0F)), std::vector<T>(x.size(), T(-7.0F))};
  max_pool2d_forward(device.compute(), over, samples, channels, r.y.data(), x.data());
  max_pool2d_backward(device.compute(), over, samples, channels, r.dx.data(), dy.data(), x.data());
  return r;
}

template <class T>
passes<T> plain(const ops::window& over, std::size_t samples, std::size_t channels, const std::vector<T>& x,
                const std::vector<T>& dy) {
  passes<T> r{{}, std::vector<T>(x.size(), T{0})};
  for (std::size_t n = 0; n < samples; ++n)
    for (std::size_t p = 0; p < over.y.out; ++p)
      for (std::size_t q = 0; q < over.x.out; ++q)
        for (std::size_t c = 0; c < channels; ++c) {
          std::size_t found = x.size();
          for (std::size_t i = 0; i < over.y.kernel; ++i)
            for (std::size_t j = 0; j < over.x.kernel; ++j) {
              const std::ptrdiff_t row = std::ptrdiff_t(p * over.y.stride + i * over.y.dilation) - std::ptrdiff_t(over.y.padding);
              const std::ptrdiff_t col = std::ptrdiff_t(q * over.x.stride + j * over.x.dilation) - std::ptrdiff_t(over.x.padding);
              if (row < 0 || col < 0 || row >= std::ptrdiff_t(over.y.in) || col >= std::ptrdiff_t(over.x.in)) continue;
              const std::size_t at = ((n * over.y.in + std::size_t(row)) * over.x.in + std::size_t(col)) * channels + c;
              if (found == x.size() || x[at] > x[found]) found = at;
            }
          r.dx[found] += dy[r.y.size()];
          r.y.push_back(x[found]);
        }
  return r;
}

} // namespace

TEST_CASE_TEMPLATE("max_pool2d: the first of the greatest in every window, on any number of threads", T, float, double) {
  for (const ops::window& over : several)
    for (const std::size_t channels : {1U, 16U, 37U, 300U})
      for (const std::size_t samples : {1U, 3U}) {
        const auto x = some<T>(samples * over.inputs() * channels, 7);
        const auto dy = some<T>(samples * over.outputs() * channels, 900);
        const auto expected = plain(over, samples, channels, x, dy);
        CHECK((run(over, samples, channels, x, dy, 1) == expected));
        CHECK((run(over, samples, channels, x, dy, 3) == expected));
      }
}

TEST_CASE("max_pool2d: a NaN is the greatest, a window of minus infinities has a first, and an empty one none") {
  cpu device;
  const ops::window all{ops::fitted({2, 0, 2}), ops::fitted({2, 0, 2})};
  const float nan = NAN, least = -std::numeric_limits<float>::infinity();
  const std::vector<float> x{1, least, nan, least, 5, least, 3, least}, dy{2, 3}; // two channels of 4 pixels
  std::vector<float> y(2), dx(8);
  max_pool2d_forward(device.compute(), all, 1, 2, y.data(), x.data());
  max_pool2d_backward(device.compute(), all, 1, 2, dx.data(), dy.data(), x.data());
  CHECK((std::isnan(y[0]) && y[1] == least));
  CHECK(dx == std::vector<float>{0, 3, 2, 0, 0, 0, 0, 0});
  const ops::window beside{ops::fitted({1, 0, 2, 1, 2, 4}), ops::fitted({1, 0, 1})}; // taps before and after the image
  max_pool2d_forward(device.compute(), beside, 1, 1, y.data(), x.data());
  max_pool2d_backward(device.compute(), beside, 1, 1, dx.data(), dy.data(), x.data());
  CHECK((y[0] == least && dx[0] == 0));
}

TEST_CASE_TEMPLATE("max_pool2d: of 16-bit elements it is that of float, rounded once", T, bfloat16, float16) {
  for (const ops::window& over : several)
    for (const std::size_t channels : {5U, 37U, 600U}) {
      const std::size_t samples = 2;
      const auto x = narrow::normal<T>(samples * over.inputs() * channels, 1);
      const auto dy = narrow::normal<T>(samples * over.outputs() * channels, 2);
      const auto own = run(over, samples, channels, x.own, dy.own, 2);
      const auto wide = run(over, samples, channels, x.wide, dy.wide, 1);
      CHECK(narrow::wrong(own.y, wide.y) == 0);
      CHECK(narrow::wrong(own.dx, wide.dx) == 0);
    }
}

} // namespace max_pool2d_max_pool2d_tests
