// SPDX-License-Identifier: MIT
#include <cairn/ops/group_norm/cpu.hpp>
#include <cairn/ops/group_norm/group_norm.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/random.hpp>
#include <doctest/doctest.h>

#include "../../reference/differences.hpp"
#include "../narrow.hpp"

namespace group_norm_group_norm_tests {

using namespace cairn;

namespace {

constexpr double eps = 1e-5;

template <class T>
struct run {
  std::vector<T> y, dx;
  std::vector<accumulated<T>> statistics, dw, db;
  bool operator==(const run&) const = default;
};

template <class T>
struct given {
  std::vector<T> x, dy, w, b;
};
template <class T>
given<T> some(const ops::channel_groups& of, double center = 0) {
  const auto noise = [](std::size_t count, std::uint32_t stream, double around) {
    std::vector<T> result(count);
    for (std::size_t i = 0; i < count; ++i)
      result[i] = static_cast<T>(around + 2 * ops::random_uniform<double>({.seed = 5, .position = stream}, i) - 1);
    return result;
  };
  const std::size_t count = of.samples * of.pixels * of.channels;
  return {noise(count, 1, center), noise(count, 2, 0), noise(of.channels, 3, 1), noise(of.channels, 4, 0)};
}

template <class T>
run<T> both_passes(const ops::channel_groups& of, const given<T>& in, std::size_t threads, bool in_place = false) {
  cpu device({.threads = threads});
  auto& queue = device.compute();
  using sum = accumulated<T>;
  run<T> r{in.x, in.dy, std::vector<sum>(of.samples * of.groups * 2, sum{-7}), std::vector<sum>(of.channels, sum{-7}),
           std::vector<sum>(of.channels, sum{-7})};
  group_norm_forward(queue, of, eps, r.y.data(), r.statistics.data(), in_place ? r.y.data() : in.x.data(), in.w.data(),
                     in.b.data());
  group_norm_backward(queue, of, r.dx.data(), r.dw.data(), r.db.data(), in_place ? r.dx.data() : in.dy.data(), in.x.data(),
                      r.statistics.data(), in.w.data());
  return r;
}

// The formulas, one group after another, in double.
template <class T>
run<double> plain(const ops::channel_groups& of, const given<T>& in) {
  run<double> r{std::vector<double>(in.x.size()),
                std::vector<double>(in.x.size()),
                {},
                std::vector<double>(of.channels),
                std::vector<double>(of.channels)};
  const auto n = static_cast<double>(of.pixels * of.each());
  for (std::size_t sample = 0; sample < of.samples; ++sample)
    for (std::size_t group = 0; group < of.groups; ++group) {
      std::vector<std::size_t> places;
      for (std::size_t p = 0; p < of.pixels; ++p)
        for (std::size_t c = 0; c < of.each(); ++c)
          places.push_back((sample * of.pixels + p) * of.channels + group * of.each() + c);
      double mean = 0, variance = 0, of_g = 0, of_gh = 0;
      for (const std::size_t at : places) mean += static_cast<double>(in.x[at]) / n;
      for (const std::size_t at : places)
        variance += (static_cast<double>(in.x[at]) - mean) * (static_cast<double>(in.x[at]) - mean) / n;
      const double inverse = 1 / std::sqrt(variance + eps);
      for (const std::size_t at : places) {
        const std::size_t c = at % of.channels;
        const double h = (static_cast<double>(in.x[at]) - mean) * inverse, dy = static_cast<double>(in.dy[at]);
        r.y[at] = h * static_cast<double>(in.w[c]) + static_cast<double>(in.b[c]);
        r.dw[c] += dy * h, r.db[c] += dy;
        of_g += dy * static_cast<double>(in.w[c]) / n, of_gh += dy * static_cast<double>(in.w[c]) * h / n;
      }
      for (const std::size_t at : places) {
        const double h = (static_cast<double>(in.x[at]) - mean) * inverse;
        r.dx[at] = inverse * (static_cast<double>(in.dy[at]) * static_cast<double>(in.w[at % of.channels]) - of_g - h * of_gh);
      }
      r.statistics.push_back(mean);
      r.statistics.push_back(inverse);
    }
  return r;
}

template <class T>
double distance(const run<T>& found, const run<double>& expected) {
  return std::max({largest_difference(found.y, expected.y), largest_difference(found.statistics, expected.statistics),
                   largest_difference(found.dx, expected.dx), largest_difference(found.dw, expected.dw),
                   largest_difference(found.db, expected.db)});
}

constexpr ops::channel_groups several[] = {
    {3, 20, 6, 3}, {2, 7, 37, 1}, {4, 9, 5, 5}, {5, 1, 24, 2}, {2, 33, 1200, 4}, {2, 12, 700, 700}, {9, 130, 64, 8},
};

} // namespace

TEST_CASE_TEMPLATE("group_norm: the formulas, also in place, and the same bits on any number of threads", T, float, double) {
  for (const ops::channel_groups& of : several) {
    CAPTURE(of.channels);
    const auto in = some<T>(of, 2);
    const auto one = both_passes(of, in, 1);
    CHECK(distance(one, plain(of, in)) < (sizeof(T) == 4 ? 1e-5 : 1e-12));
    CHECK((both_passes(of, in, 3) == one));
    CHECK((both_passes(of, in, 1, true) == one));
    ops::channel_groups alone = of; // a sample does not depend on the others
    alone.samples = 1;
    given<T> one_sample = in;
    one_sample.x.resize(of.pixels * of.channels);
    one_sample.dy.resize(of.pixels * of.channels);
    const auto first = both_passes(alone, one_sample, 1);
    CHECK(std::equal(first.dx.begin(), first.dx.end(), one.dx.begin()));
  }
}

TEST_CASE("group_norm: elements far from zero, and channels far from each other, lose nothing") {
  const ops::channel_groups of{1, 50, 4, 2};
  auto in = some<float>(of, 3000);
  for (std::size_t i = 0; i < in.x.size(); i += 4) in.x[i] += 1000; // the first channel of the first group
  const auto found = both_passes(of, in, 1);
  const auto expected = plain(of, in);
  for (std::size_t k = 0; k < 4; ++k)
    CHECK(static_cast<double>(found.statistics[k]) == doctest::Approx(expected.statistics[k]).epsilon(1e-6));
}

TEST_CASE("group_norm: gradients that are not wanted, and a NaN that stays in its group") {
  const ops::channel_groups of{2, 3, 4, 2};
  auto in = some<double>(of);
  in.x[0] = NAN;
  const auto all = both_passes(of, in, 1);
  for (std::size_t i = 0; i < in.x.size(); ++i) CHECK(std::isnan(all.y[i]) == (i < 12 && i % 4 < 2));
  cpu device;
  double* const unwanted = nullptr;
  std::vector<double> dx(in.x.size()), dw(4);
  group_norm_backward(device.compute(), of, dx.data(), unwanted, unwanted, in.dy.data(), in.x.data(),
                      static_cast<const double*>(all.statistics.data()), in.w.data());
  group_norm_backward(device.compute(), of, unwanted, dw.data(), unwanted, in.dy.data(), in.x.data(),
                      static_cast<const double*>(all.statistics.data()), in.w.data());
  for (std::size_t i = 12; i < dx.size(); ++i) CHECK(dx[i] == all.dx[i]);
  CHECK((dw[2] == all.dw[2] && dw[3] == all.dw[3]));
}

TEST_CASE("group_norm: of 16-bit elements it is that of float, rounded once, and statistics and sums are float") {
  for (const ops::channel_groups& of : {several[0], several[1], several[2]}) {
    const std::size_t count = of.samples * of.pixels * of.channels;
    const auto x = narrow::normal<bfloat16>(count, 1), dy = narrow::normal<bfloat16>(count, 2);
    const auto w = narrow::normal<bfloat16>(of.channels, 3), b = narrow::normal<bfloat16>(of.channels, 4);
    const auto own = both_passes<bfloat16>(of, {x.own, dy.own, w.own, b.own}, 2);
    const auto wide = both_passes<float>(of, {x.wide, dy.wide, w.wide, b.wide}, 1);
    CHECK(narrow::wrong(own.y, wide.y, 4e-6F) == 0);
    CHECK(narrow::wrong(own.dx, wide.dx, 4e-6F) == 0);
    CHECK(narrow::wrong(own.dw, wide.dw, 2e-5F) == 0);
    CHECK(narrow::wrong(own.db, wide.db, 2e-5F) == 0);
    CHECK(narrow::wrong(own.statistics, wide.statistics, 1e-5F) == 0);
    CHECK((both_passes<bfloat16>(of, {x.own, dy.own, w.own, b.own}, 1, true) == own));
  }
}

} // namespace group_norm_group_norm_tests
