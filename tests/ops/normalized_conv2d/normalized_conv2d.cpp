// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/ops/normalized_conv2d/normalized_conv2d.hpp>

#include <cmath>
#include <limits>

#include <cairn/core/bfloat16.hpp>
#include <cairn/ops/normalized_conv2d/cpu.hpp>
#include <cairn/ops/normalized_conv2d/narrow.hpp>
#include <cairn/ops/normalized_conv2d/reference.hpp>
#include <doctest/doctest.h>

#include "../made_up.hpp"

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

template <class T>
results<T> run(std::size_t samples, const ops::convolution& how, std::size_t threads, bool plain, bool spoilt = false) {
  using A = accumulated<T>;
  cpu::queue queue(threads);
  const std::size_t in = how.in_channels, out = how.out_channels, rows = samples * how.over.inputs(), stride = out + 9;
  auto dy = made_up<T>(rows * stride, 0.3);
  if (spoilt) dy[how.over.outputs() * stride] = std::numeric_limits<T>::quiet_NaN(); // a corner of the second image
  const auto x = made_up<T>(rows * in, 0.7, 0.5), w = made_up<T>(9 * in * out, 0.9), gamma = made_up<T>(in, 1.3),
             beta = made_up<T>(in, 0.4);
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
  std::vector<T> scales(3 * in);
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

TEST_CASE_TEMPLATE("normalized_conv2d: a gradient that is NaN reaches the weights that it is made of", T, float, double) {
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

TEST_CASE("normalized_conv2d: elements whose sums are kept in another type are rounded once") {
  const ops::convolution how{{three(4), three(3)}, 3, 2, 1};
  const auto narrow = run<bfloat16>(2, how, 1, false);
  const auto wide = run<float>(2, how, 1, false);
  for (std::size_t i = 0; i < wide.y.size(); ++i)
    CHECK(static_cast<float>(narrow.y[i]) == doctest::Approx(wide.y[i]).epsilon(0.05));
}

} // namespace normalized_conv2d_normalized_conv2d_tests
