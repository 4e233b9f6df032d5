// SPDX-License-Identifier: MIT
// Compares each element of all passes of a convolution with its formula.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <cairn/core/random.hpp>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/cpu.hpp>
#include <cairn/ops/conv2d/reference.hpp>
#include <doctest/doctest.h>

namespace conv2d_case {

using namespace cairn;

constexpr ops::convolution made(std::size_t height, std::size_t width, std::size_t in, std::size_t out, std::size_t groups,
                                ops::window_axis y, ops::window_axis x) {
  y.in = height, x.in = width;
  return {{ops::fitted(y), ops::fitted(x)}, in, out, groups};
}
constexpr ops::window_axis axis(std::size_t kernel, std::size_t stride = 1, std::size_t padding = 0, std::size_t dilation = 1) {
  return {0, 0, kernel, stride, padding, dilation};
}

template <class T>
std::vector<T> noise(std::size_t count, std::uint32_t stream) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = 2 * ops::random_uniform<T>({.seed = 5, .position = stream}, i) - 1;
  return result;
}

template <class T>
struct passes {
  std::vector<T> y, dx, dw, db;
  bool operator==(const passes&) const = default;
};

// The ops that programs call. `error` is the largest error of a sum of `terms` terms, in roundings.
struct public_passes {
  static double error(double terms) { return 1 + std::sqrt(terms); }
  template <class... Arguments>
  void forward(Arguments&&... arguments) const {
    conv2d_forward(arguments...);
  }
  template <class... Arguments>
  void input_gradient(Arguments&&... arguments) const {
    conv2d_input_gradient(arguments...);
  }
  template <class... Arguments>
  void weight_gradient(Arguments&&... arguments) const {
    conv2d_weight_gradient(arguments...);
  }
};

// Runs all passes of some samples. The output and its gradient have `gap` elements between two rows.
template <class T, class By = public_passes>
passes<T> run(const ops::convolution& how, std::size_t samples, std::size_t threads, std::size_t gap = 0, bool fused = false,
              const By& by = {}) {
  cpu device({.threads = threads});
  auto& queue = device.compute();
  const std::size_t rows = samples * how.over.outputs(), inputs = samples * how.over.inputs() * how.in_channels;
  const std::size_t stride = how.out_channels + gap;
  const auto x = noise<T>(inputs, 1), w = noise<T>(how.out_channels * how.depth(), 2), dy = noise<T>(rows * stride, 3);
  const auto b = noise<T>(how.out_channels, 4), addend = noise<T>(rows * how.out_channels, 5);
  passes<T> r{std::vector<T>(rows * stride, T{-7}), std::vector<T>(inputs, T{-7}), std::vector<T>(w.size(), T{-7}),
              std::vector<T>(how.out_channels, T{-7})};
  ops::epilogue<T> forward{}, backward{};
  forward.bias = b.data();
  if (fused) {
    forward.then = ops::activation::relu;
    forward.addend = {addend.data(), rows, how.out_channels};
    backward.mask = {x.data(), samples * how.over.inputs(), how.in_channels};
    backward.addend = {x.data(), samples * how.over.inputs(), how.in_channels};
  }
  const ops::matrix<const T> gradient{dy.data(), rows, how.out_channels, stride};
  by.forward(queue, how, samples, ops::matrix<T>{r.y.data(), rows, how.out_channels, stride}, x.data(), w.data(), forward);
  by.input_gradient(queue, how, samples, r.dx.data(), gradient, w.data(), backward);
  by.weight_gradient(queue, how, samples, r.dw.data(), r.db.data(), gradient, x.data());

  // The gap is unchanged.
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = how.out_channels; i < stride; ++i) CHECK(r.y[row * stride + i] == T{-7});
  // Compares with the formulas, one element after another.
  double worst = 0;
  const auto differs = [&worst](T found, double expected, std::size_t terms) {
    const double scale = static_cast<double>(std::numeric_limits<T>::epsilon()) * By::error(static_cast<double>(terms));
    worst = std::max(worst, std::fabs(static_cast<double>(found) - expected) / scale);
  };
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t o = 0; o < how.out_channels; ++o) {
      double sum = detail::conv2d_output(how, x.data(), w.data(), row, o) + static_cast<double>(b[o]);
      if (fused) sum = std::max(sum, 0.0) + static_cast<double>(addend[row * how.out_channels + o]);
      differs(r.y[row * stride + o], sum, how.depth());
    }
  for (std::size_t i = 0; i < inputs; ++i) {
    double sum = detail::conv2d_input_derivative(how, gradient, w.data(), i / how.in_channels, i % how.in_channels);
    if (fused) sum = x[i] <= T{0} ? 0 : sum + static_cast<double>(x[i]);
    differs(r.dx[i], sum, how.over.taps() * how.group_out());
  }
  for (std::size_t o = 0; o < how.out_channels; ++o) {
    for (std::size_t i = 0; i < how.depth(); ++i)
      differs(r.dw[o * how.depth() + i],
              detail::conv2d_weight_derivative(how, samples, gradient, x.data(), o, i / how.group_in(), i % how.group_in()),
              rows);
    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row) sum += static_cast<double>(gradient(row, o));
    differs(r.db[o], sum, rows);
  }
  CHECK(worst < (sizeof(T) == 4 ? 4 : 20)); // the oracle itself rounds in double
  return r;
}

// Checks that the addend may be the result itself, in both passes that have an addend.
template <class T, class By = public_passes>
void check_in_place(const ops::convolution& how, const By& by = {}) {
  cpu device;
  auto& queue = device.compute();
  const std::size_t rows = how.over.outputs(), inputs = how.over.inputs();
  const auto x = noise<T>(inputs * how.in_channels, 1), w = noise<T>(how.out_channels * how.depth(), 2);
  const auto dy = noise<T>(rows * how.out_channels, 3);
  auto y = dy, dx = x;
  std::vector<T> y_apart(y.size()), dx_apart(dx.size());
  ops::epilogue<T> then{};
  const ops::matrix<const T> gradient{dy.data(), rows, how.out_channels};
  for (T* const to : {y_apart.data(), y.data()}) {
    then.addend = {to == y.data() ? to : dy.data(), rows, how.out_channels};
    by.forward(queue, how, std::size_t{1}, ops::matrix<T>{to, rows, how.out_channels}, x.data(), w.data(), then);
  }
  for (T* const to : {dx_apart.data(), dx.data()}) {
    then.addend = {to == dx.data() ? to : x.data(), inputs, how.in_channels};
    by.input_gradient(queue, how, std::size_t{1}, to, gradient, w.data(), then);
  }
  CHECK(y != dy);
  CHECK(y == y_apart);
  CHECK(dx == dx_apart);
}

// Makes one element of x, or of dy, not finite. An element of a pass must be infinite or NaN where its formula is, and
// otherwise as close to it as usual. Returns how many are not finite. There may be none: a window may lie beside the image,
// and an input may be in no window.
template <class T, class By>
std::size_t spread_of(const ops::convolution& how, const By& by, bool in_gradient, std::size_t at, T value) {
  constexpr std::size_t samples = 3, gap = 2; // the element is in the second image
  cpu device({.threads = 2});
  auto& queue = device.compute();
  const std::size_t outputs = samples * how.over.outputs(), inputs = samples * how.over.inputs();
  const std::size_t stride = how.out_channels + gap;
  auto x = noise<T>(inputs * how.in_channels, 1), dy = noise<T>(outputs * stride, 3);
  const auto w = noise<T>(how.out_channels * how.depth(), 2);
  if (in_gradient) dy[(how.over.outputs() + at) * stride + at % how.out_channels] = value;
  else x[(how.over.inputs() + at) * how.in_channels + at % how.in_channels] = value;
  const ops::matrix<const T> gradient{dy.data(), outputs, how.out_channels, stride};

  std::size_t wrong = 0, spread = 0;
  const auto compare = [&](T found, double expected) {
    const double apart = std::fabs(static_cast<double>(found) - expected);
    if (!std::isfinite(expected)) ++spread;
    if (std::isnan(expected)) wrong += std::isnan(found) ? 0 : 1;
    else if (std::isinf(expected)) wrong += static_cast<double>(found) == expected ? 0 : 1;
    else wrong += apart <= 500 * static_cast<double>(std::numeric_limits<T>::epsilon()) ? 0 : 1;
  };
  std::vector<T> dw(w.size(), T{-7}), db(how.out_channels);
  by.weight_gradient(queue, how, samples, dw.data(), db.data(), gradient, x.data());
  for (std::size_t i = 0; i < dw.size(); ++i)
    compare(dw[i], detail::conv2d_weight_derivative(how, samples, gradient, x.data(), i / how.depth(),
                                                    i % how.depth() / how.group_in(), i % how.group_in()));
  const ops::epilogue<T> then{};
  if (in_gradient) {
    std::vector<T> dx(x.size(), T{-7});
    by.input_gradient(queue, how, samples, dx.data(), gradient, w.data(), then);
    for (std::size_t i = 0; i < dx.size(); ++i)
      compare(dx[i], detail::conv2d_input_derivative(how, gradient, w.data(), i / how.in_channels, i % how.in_channels));
  } else {
    std::vector<T> y(outputs * how.out_channels, T{-7});
    by.forward(queue, how, samples, ops::matrix<T>{y.data(), outputs, how.out_channels}, x.data(), w.data(), then);
    for (std::size_t i = 0; i < y.size(); ++i)
      compare(y[i], detail::conv2d_output(how, x.data(), w.data(), i / how.out_channels, i % how.out_channels));
  }
  CHECK(wrong == 0);
  return spread;
}
// Checks elements at the corners, at the edges and inside.
template <class T, class By = public_passes>
void check_spread(const ops::convolution& how, const By& by = {}) {
  CAPTURE(how.over.x.in);
  CAPTURE(how.in_channels);
  constexpr T infinity = std::numeric_limits<T>::infinity();
  for (const bool in_gradient : {false, true}) {
    const std::size_t height = in_gradient ? how.over.y.out : how.over.y.in, width = in_gradient ? how.over.x.out : how.over.x.in;
    const std::size_t corner = (height - 1) * width, middle = height / 2 * width;
    std::size_t spread = 0;
    for (const std::size_t at : {std::size_t{0}, width - 1, corner, corner + width - 1, width / 2, middle + width - 1, middle,
                                 corner + width / 2, middle + width / 2}) {
      CAPTURE(at);
      const T value = at % 4 == 1 ? infinity : at % 4 == 2 ? -infinity : std::numeric_limits<T>::quiet_NaN();
      spread += spread_of<T>(how, by, in_gradient, at, value);
    }
    CHECK(spread > 0);
  }
}

inline constexpr ops::convolution several[] = {
    made(5, 7, 3, 4, 1, axis(3, 1, 1), axis(3, 1, 1)),         // the usual convolution
    made(6, 5, 2, 50, 1, axis(1), axis(1)),                    // a product
    made(6, 5, 4, 6, 2, axis(1), axis(1)),                     // two products
    made(7, 9, 5, 3, 1, axis(1, 2), axis(1, 3)),               // most inputs are in no window
    made(9, 8, 3, 5, 1, axis(3, 2, 1), axis(2, 2, 0)),         // strides
    made(11, 10, 4, 6, 2, axis(3, 2, 2, 2), axis(3, 1, 3, 3)), // groups and dilations
    made(8, 12, 6, 6, 6, axis(5, 3, 4), axis(3, 4, 2, 2)),     // depthwise, and a stride beyond the window
    made(4, 4, 2, 3, 1, axis(4, 1, 3), axis(3, 1, 5)),         // more padding than image on one side
    made(6, 7, 70, 70, 70, axis(3, 2, 1), axis(3, 1, 1)),      // depthwise with several blocks of channels
    made(9, 6, 3, 2, 1, axis(2, 4, 0, 3), axis(2, 2, 1, 2)),   // a stride and a dilation with a common divisor
    made(6, 6, 70, 60, 1, axis(3, 1, 1), axis(3, 1, 1)),       // several slivers, the last one partial
};

} // namespace conv2d_case
