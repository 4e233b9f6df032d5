// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/ops/normalized_conv2d/normalized_conv2d.hpp>

#include <cmath>
#include <limits>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/ops/normalized_conv2d/cpu.hpp>
#include <cairn/ops/normalized_conv2d/reference.hpp>
#include <doctest/doctest.h>

#include "../made_up.hpp"
#include "../narrow.hpp"

namespace normalized_conv2d_normalized_conv2d_tests {

using namespace cairn;

namespace {

template <class T>
struct results {
  std::vector<T> y, dx;
  std::vector<accumulated<T>> statistics, by_statistics, norm_weight, norm_bias, weight;
  bool operator==(const results&) const = default;
};

constexpr ops::window_axis three(std::size_t extent) { return {extent, extent, 3, 1, 1, 1}; }

// All elements have values of type As.
template <class T, class As = T>
results<T> run(std::size_t samples, const ops::convolution& how, std::size_t threads, bool plain, bool spoilt = false) {
  using A = accumulated<T>;
  cpu::queue queue(threads);
  const std::size_t in = how.in_channels, out = how.out_channels, rows = samples * how.over.inputs(), stride = out + 9;
  auto dy = made_up_as<T, As>(rows * stride, 0.3);
  if (spoilt)
    dy[how.over.outputs() * stride] = static_cast<T>(std::numeric_limits<float>::quiet_NaN()); // a corner of the second image
  const auto x = made_up_as<T, As>(rows * in, 0.7, 0.5), w = made_up_as<T, As>(9 * in * out, 0.9),
             gamma = made_up_as<T, As>(in, 1.3), beta = made_up_as<T, As>(in, 0.4);
  std::vector<A> of_x(2 * in), partial(2 * (in + out) * samples);
  detail::channel_statistics_reference(ops::matrix<const T>{x.data(), rows, in}, of_x.data());
  const auto norm = ops::channel_norm<T>::of_batch(of_x.data(), 1e-5, gamma.data(), beta.data());
  results<T> r{std::vector<T>(rows * stride, T{}),
               std::vector<T>(rows * in),
               std::vector<A>(2 * out),
               std::vector<A>(2 * in),
               std::vector<A>(in),
               std::vector<A>(in),
               std::vector<A>(9 * in * out)};
  std::vector<A> scales(3 * in);
  const ops::matrix<T> y{r.y.data(), rows, out, stride};
  const ops::matrix<const T> y_gradient{dy.data(), rows, out, stride};
  const ops::normalized_conv2d_gradients<T> to{r.dx.data(), r.by_statistics.data(), r.norm_weight.data(), r.norm_bias.data(),
                                               r.weight.data()};
  if (plain) {
    detail::normalized_conv2d_forward_reference<T>(how, samples, y, r.statistics.data(), x.data(), norm, w.data());
    detail::normalized_conv2d_backward_reference<T>(how, samples, to, y_gradient, x.data(), norm, w.data());
  } else {
    normalized_conv2d_forward(queue, how, samples, y, r.statistics.data(), x.data(), norm, w.data(), scales.data(),
                              partial.data());
    normalized_conv2d_backward(queue, how, samples, to, y_gradient, x.data(), norm, w.data(), scales.data(), partial.data());
  }
  return r;
}

template <class T>
double norm_of(const std::vector<T>& x) {
  double sum = 0;
  for (const T e : x) sum += static_cast<double>(e) * static_cast<double>(e);
  return sum;
}

} // namespace

TEST_CASE_TEMPLATE("normalized_conv2d: the formulas, for any size, and any number of threads", T, float, double) {
  const double close = sizeof(T) == 4 ? 2e-5 : 1e-12;
  struct extents {
    std::size_t samples, height, width, in, out;
  };
  for (const extents& e : {extents{1, 1, 1, 1, 1}, {3, 5, 4, 16, 4}, {5, 30, 33, 20, 12}, {2, 3, 70, 5, 17}}) {
    CAPTURE(e.in);
    const ops::convolution how{{three(e.height), three(e.width)}, e.in, e.out, 1};
    const auto quick = run<T>(e.samples, how, 1, false), plain = run<T>(e.samples, how, 1, true);
    CHECK(relative_difference(quick.y, plain.y) < close);
    CHECK(relative_difference(quick.statistics, plain.statistics) < close);
    CHECK(relative_difference(quick.dx, plain.dx) < close);
    CHECK(relative_difference(quick.by_statistics, plain.by_statistics) < close);
    CHECK(relative_difference(quick.norm_weight, plain.norm_weight) < close);
    CHECK(relative_difference(quick.norm_bias, plain.norm_bias) < close);
    CHECK(relative_difference(quick.weight, plain.weight) < close);
    CHECK(run<T>(e.samples, how, 3, false) == quick);
  }
}

TEST_CASE_TEMPLATE("normalized_conv2d: a gradient that is NaN reaches the weights that it is made of", T, float, double,
                   bfloat16) {
  for (const ops::convolution& how :
       {ops::convolution{{three(5), three(4)}, 16, 4, 1}, ops::convolution{{three(5), three(40)}, 7, 5, 1}}) {
    const auto quick = run<T>(3, how, 2, false, true), plain = run<T>(3, how, 1, true, true);
    std::size_t spread = 0;
    for (std::size_t i = 0; i < plain.weight.size(); ++i) {
      const bool is_nan = std::isnan(plain.weight[i]);
      spread += is_nan ? 1 : 0;
      CHECK(std::isnan(quick.weight[i]) == is_nan);
      if (!is_nan) CHECK(quick.weight[i] == doctest::Approx(plain.weight[i]).epsilon(1e-4));
    }
    CHECK(spread == 4 * how.in_channels); // four taps of one output read pixels of the image
  }
}

TEST_CASE_TEMPLATE("normalized_conv2d: of 16-bit elements it is that of float, rounded once", T, bfloat16, float16) {
  struct extents {
    std::size_t samples, height, width, in, out;
  };
  // The last one has more channels of a map than fit into the scratch at once.
  for (const extents& e : {extents{1, 1, 1, 1, 1},
                           {3, 5, 4, 16, 4},
                           {5, 30, 33, 20, 12},
                           {2, 3, 70, 5, 17},
                           {2, 2, 3, 2100, 3},
                           {1, 40, 40, 512, 2}}) {
    CAPTURE(e.in);
    const ops::convolution how{{three(e.height), three(e.width)}, e.in, e.out, 1};
    const auto narrow = run<T>(e.samples, how, 1, false);
    const auto wide = run<float, T>(e.samples, how, 1, false);
    CHECK(narrow::wrong(narrow.y, wide.y) == 0);
    CHECK(narrow::wrong(narrow.dx, wide.dx) == 0);
    CHECK(relative_difference(narrow.statistics, wide.statistics) < 0.02);
    CHECK(narrow.by_statistics == wide.by_statistics);
    CHECK(narrow.norm_weight == wide.norm_weight);
    CHECK(narrow.norm_bias == wide.norm_bias);
    CHECK(narrow.weight == wide.weight);
    CHECK(run<T>(e.samples, how, 3, false) == narrow);
  }
}

TEST_CASE("normalized_conv2d: a map of 16-bit elements that is too wide for the scratch takes the formulas") {
  const ops::convolution how{{three(220), three(220)}, 17, 1, 1};
  const auto quick = run<bfloat16>(1, how, 1, false), plain = run<bfloat16>(1, how, 1, true);
  CHECK(quick.dx == plain.dx);
  CHECK(quick.norm_weight == plain.norm_weight);
}

// In forward the channels of x, in backward those of dy.
TEST_CASE_TEMPLATE("normalized_conv2d: channels of which not one result's pixels fit into the scratch take the formulas", T,
                   float, bfloat16) {
  for (const bool many_in : {true, false}) {
    const ops::convolution how{{three(2), three(2)}, many_in ? 60000U : 3U, many_in ? 1U : 60000U, 1};
    CAPTURE(many_in);
    const auto quick = run<T>(1, how, 1, false), plain = run<T>(1, how, 1, true);
    CHECK(relative_difference(quick.weight, plain.weight) < 1e-5);
    CHECK((!many_in || quick.y == plain.y));
    CHECK((many_in || quick.dx == plain.dx));
    CHECK(norm_of(quick.y) > 0);
    CHECK(norm_of(quick.dx) > 0);
  }
}

} // namespace normalized_conv2d_normalized_conv2d_tests
