// SPDX-License-Identifier: MIT
#include <cairn/ops/avg_pool2d/avg_pool2d.hpp>
#include <cairn/ops/avg_pool2d/cpu.hpp>

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/core/random.hpp>
#include <doctest/doctest.h>

#include "../../reference/differences.hpp"
#include "../narrow.hpp"

namespace avg_pool2d_avg_pool2d_tests {

using namespace cairn;

namespace {

struct pool {
  ops::window over;
  ops::mean_of which;
};
constexpr ops::window_axis parts(std::size_t in, std::size_t out) { return {in, out}; }
constexpr pool several[] = {
    {{ops::fitted({4, 0, 2, 2}), ops::fitted({5, 0, 2, 2})}, ops::mean_of::window}, // side by side, one column is not covered
    {{ops::fitted({6, 0, 3, 2, 1}), ops::fitted({7, 0, 3, 1, 1})}, ops::mean_of::window}, // overlapping, with padding
    {{ops::fitted({6, 0, 3, 2, 1}), ops::fitted({7, 0, 3, 1, 1})}, ops::mean_of::pixels}, //
    {{ops::fitted({6, 0, 3, 2, 1}, true), ops::fitted({5, 0, 2, 2, 1}, true)},
     ops::mean_of::window}, // windows beyond the padded input
    {{ops::fitted({5, 0, 2, 2, 0}, true), ops::fitted({7, 0, 4, 3, 2}, true)}, ops::mean_of::pixels}, //
    {{parts(7, 3), parts(5, 2)}, ops::mean_of::adaptive},                                             // parts that overlap
    {{parts(3, 5), parts(6, 6)}, ops::mean_of::adaptive},                                             // more parts than pixels
};

template <class T>
std::vector<T> noise(std::size_t count, std::uint32_t stream) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = 2 * ops::random_uniform<T>({.seed = 5, .position = stream}, i) - 1;
  return result;
}

template <class T>
struct passes {
  std::vector<T> y, dx;
  bool operator==(const passes&) const = default;
};
template <class T>
passes<T> run(const pool& how, std::size_t samples, std::size_t channels, const std::vector<T>& x, const std::vector<T>& dy,
              std::size_t threads) {
  cpu device({.threads = threads});
  passes<T> r{std::vector<T>(dy.size(), T(-7.0F)), std::vector<T>(x.size(), T(-7.0F))};
  avg_pool2d_forward(device.compute(), how.over, how.which, samples, channels, r.y.data(), x.data());
  avg_pool2d_backward(device.compute(), how.over, how.which, samples, channels, r.dx.data(), dy.data());
  return r;
}

// The formulas, tap by tap: finds the inputs in each output's window, and counts places outside the image as `which` says.
template <class T>
passes<double> plain(const pool& how, std::size_t samples, std::size_t channels, const std::vector<T>& x,
                     const std::vector<T>& dy) {
  passes<double> r{{}, std::vector<double>(x.size())};
  const ops::window_axis &y = how.over.y, &w = how.over.x;
  const auto places = [&](const ops::window_axis& a, std::size_t o) {
    std::vector<std::ptrdiff_t> found;
    if (how.which == ops::mean_of::adaptive) {
      for (std::size_t i = 0; i < a.in; ++i) // part o is [o in / out, (o + 1) in / out), with every pixel that it touches
        if ((i + 1) * a.out > o * a.in && i * a.out < (o + 1) * a.in) found.push_back(std::ptrdiff_t(i));
      return found;
    }
    for (std::size_t k = 0; k < a.kernel; ++k)
      if (o * a.stride + k < a.in + 2 * a.padding) found.push_back(std::ptrdiff_t(o * a.stride + k) - std::ptrdiff_t(a.padding));
    return found;
  };
  const auto there = [](const ops::window_axis& a, std::ptrdiff_t i) { return i >= 0 && i < std::ptrdiff_t(a.in); };
  for (std::size_t n = 0; n < samples; ++n)
    for (std::size_t p = 0; p < y.out; ++p)
      for (std::size_t q = 0; q < w.out; ++q)
        for (std::size_t c = 0; c < channels; ++c) {
          std::vector<std::size_t> pixels;
          std::size_t divisor = 0;
          for (const std::ptrdiff_t i : places(y, p))
            for (const std::ptrdiff_t j : places(w, q)) {
              const bool is_there = there(y, i) && there(w, j);
              divisor += is_there || how.which == ops::mean_of::window ? 1 : 0;
              if (is_there) pixels.push_back(((n * y.in + std::size_t(i)) * w.in + std::size_t(j)) * channels + c);
            }
          double sum = 0;
          for (const std::size_t at : pixels) {
            sum += static_cast<double>(x[at]);
            r.dx[at] += static_cast<double>(dy[r.y.size()]) / static_cast<double>(divisor);
          }
          r.y.push_back(sum / static_cast<double>(divisor));
        }
  return r;
}

} // namespace

TEST_CASE_TEMPLATE("avg_pool2d: the mean of every window, on any number of threads", T, float, double) {
  for (const pool& how : several)
    for (const std::size_t channels : {1U, 16U, 37U, 300U})
      for (const std::size_t samples : {1U, 3U}) {
        const auto x = noise<T>(samples * how.over.inputs() * channels, 1),
                   dy = noise<T>(samples * how.over.outputs() * channels, 2);
        const auto one = run(how, samples, channels, x, dy, 1);
        const auto expected = plain(how, samples, channels, x, dy);
        CHECK(largest_difference(one.y, expected.y) < (sizeof(T) == 4 ? 5e-7 : 1e-15));
        CHECK(largest_difference(one.dx, expected.dx) < (sizeof(T) == 4 ? 5e-7 : 1e-15));
        CHECK((run(how, samples, channels, x, dy, 3) == one));
      }
}

TEST_CASE_TEMPLATE("avg_pool2d: of 16-bit elements it is that of float, rounded once", T, bfloat16, float16) {
  std::vector<pool> all(std::begin(several), std::end(several));
  all.push_back({{parts(9, 1), parts(5, 1)}, ops::mean_of::adaptive}); // sums of several chains
  all.push_back({{ops::fitted({9, 0, 7, 1, 3}), ops::fitted({8, 0, 7, 1, 3})}, ops::mean_of::pixels});
  for (const pool& how : all)
    for (const std::size_t channels : {5U, 37U, 300U}) {
      const std::size_t samples = 2;
      const auto x = narrow::normal<T>(samples * how.over.inputs() * channels, 1);
      const auto dy = narrow::normal<T>(samples * how.over.outputs() * channels, 2);
      const auto own = run(how, samples, channels, x.own, dy.own, 2);
      const auto wide = run(how, samples, channels, x.wide, dy.wide, 1);
      CHECK(narrow::wrong(own.y, wide.y) == 0);
      CHECK(narrow::wrong(own.dx, wide.dx, 1e-6F) == 0);
    }
}

TEST_CASE_TEMPLATE("avg_pool2d: the mean of equal numbers is that number, of however many", T, float, double, bfloat16) {
  const double least = std::is_same_v<T, float> ? 3e-7 : std::is_same_v<T, double> ? 1e-15 : 1e-2;
  for (const std::size_t side : {56U, 224U, 1024U})
    for (const pool& how : {pool{{parts(side, 1), parts(side, 1)}, ops::mean_of::adaptive},
                            pool{{ops::fitted({side, 0, side, 1}), ops::fitted({side, 0, side, 1})}, ops::mean_of::window}}) {
      const std::size_t channels = side == 56 ? 37 : 1;
      const std::vector<T> x(side * side * channels, static_cast<T>(0.1F));
      const std::vector<T> dy(channels, T(1.0F));
      for (const T y : run(how, 1, channels, x, dy, 1).y)
        CHECK(static_cast<double>(y) == doctest::Approx(static_cast<double>(x[0])).epsilon(least));
    }
}

// Maps with more channels than are added up at once, and more rows than a chain has.
TEST_CASE_TEMPLATE("avg_pool2d: long sums have one order on any number of threads", T, float, double) {
  for (const pool& how : {pool{{parts(9, 1), parts(5, 1)}, ops::mean_of::adaptive},
                          pool{{ops::fitted({9, 0, 7, 1, 3}), ops::fitted({8, 0, 7, 1, 3})}, ops::mean_of::pixels},
                          pool{{parts(2, 13), parts(3, 11)}, ops::mean_of::adaptive}})
    for (const std::size_t channels : {1U, 23U, 32U, 71U, 1500U, 2065U}) {
      const std::size_t samples = 2;
      const auto x = noise<T>(samples * how.over.inputs() * channels, 3),
                 dy = noise<T>(samples * how.over.outputs() * channels, 4);
      const auto one = run(how, samples, channels, x, dy, 1);
      const auto expected = plain(how, samples, channels, x, dy);
      CHECK(largest_difference(one.y, expected.y) < (sizeof(T) == 4 ? 5e-7 : 1e-15));
      CHECK(largest_difference(one.dx, expected.dx) < (sizeof(T) == 4 ? 2e-6 : 5e-15));
      CHECK((run(how, samples, channels, x, dy, 3) == one));
    }
}

TEST_CASE_TEMPLATE("avg_pool2d: a channel has the same bits whatever others there are", T, float, double) {
  const pool how{{parts(11, 1), parts(7, 1)}, ops::mean_of::adaptive};
  constexpr std::size_t all = 2065, few = 71;
  const std::size_t pixels = how.over.inputs();
  const auto x = noise<T>(pixels * all, 3), dy = noise<T>(all, 4);
  const auto wide = run(how, 1, all, x, dy, 1);
  for (const std::size_t begin : {std::size_t{0}, std::size_t{1000}, all - few}) {
    std::vector<T> own;
    for (std::size_t pixel = 0; pixel < pixels; ++pixel)
      for (std::size_t c = begin; c < begin + few; ++c) own.push_back(x[pixel * all + c]);
    std::vector<T> y(few);
    cpu device;
    avg_pool2d_forward(device.compute(), how.over, how.which, 1, few, y.data(), own.data());
    CHECK(y == std::vector<T>(wide.y.data() + begin, wide.y.data() + begin + few));
  }
}

TEST_CASE("avg_pool2d: the gradient of an input that is in a thousand windows is their sum") {
  const pool how{{ops::fitted({1999, 0, 1000, 1}), ops::fitted({1, 0, 1, 1})}, ops::mean_of::window};
  const std::vector<float> x(1999, 0.1F), dy(1000, 1.0F);
  CHECK(static_cast<double>(run(how, 1, 1, x, dy, 1).dx[999]) == doctest::Approx(1).epsilon(3e-7));
}

} // namespace avg_pool2d_avg_pool2d_tests
