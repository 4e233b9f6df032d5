// SPDX-License-Identifier: MIT
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/cpu.hpp>
#include <cairn/ops/conv2d/reference.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <cairn/core/random.hpp>
#include <doctest/doctest.h>

#include "../matmul/case.hpp"

namespace conv2d_conv2d_tests {

using namespace cairn;

namespace {

constexpr convolution made(std::size_t height, std::size_t width, std::size_t in, std::size_t out, std::size_t groups,
                           window_axis y, window_axis x) {
  y.in = height, x.in = width;
  return {{fitted(y), fitted(x)}, in, out, groups};
}
constexpr window_axis axis(std::size_t kernel, std::size_t stride = 1, std::size_t padding = 0, std::size_t dilation = 1) {
  return {0, 0, kernel, stride, padding, dilation};
}

template <class T>
std::vector<T> noise(std::size_t count, std::uint32_t stream) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = 2 * random_uniform<T>({.seed = 5, .position = stream}, i) - 1;
  return result;
}

template <class T>
struct passes {
  std::vector<T> y, dx, dw, db;
  bool operator==(const passes&) const = default;
};

// All passes of some samples, the output and its gradient with `gap` elements between two rows.
template <class T>
passes<T> run(const convolution& how, std::size_t samples, std::size_t threads, std::size_t gap = 0, bool fused = false) {
  cpu device({.threads = threads});
  auto& queue = device.compute();
  const std::size_t rows = samples * how.over.outputs(), inputs = samples * how.over.inputs() * how.in_channels;
  const std::size_t stride = how.out_channels + gap;
  const auto x = noise<T>(inputs, 1), w = noise<T>(how.out_channels * how.depth(), 2), dy = noise<T>(rows * stride, 3);
  const auto b = noise<T>(how.out_channels, 4), addend = noise<T>(rows * how.out_channels, 5);
  passes<T> r{std::vector<T>(rows * stride, T{-7}), std::vector<T>(inputs, T{-7}), std::vector<T>(w.size(), T{-7}),
              std::vector<T>(how.out_channels, T{-7})};
  epilogue<T> forward{}, backward{};
  forward.bias = b.data();
  if (fused) {
    forward.then = activation::relu;
    forward.addend = {addend.data(), rows, how.out_channels};
    backward.mask = {x.data(), samples * how.over.inputs(), how.in_channels};
    backward.addend = {x.data(), samples * how.over.inputs(), how.in_channels};
  }
  const matrix<const T> gradient{dy.data(), rows, how.out_channels, stride};
  conv2d_forward(queue, how, samples, matrix<T>{r.y.data(), rows, how.out_channels, stride}, x.data(), w.data(), forward);
  conv2d_input_gradient(queue, how, samples, r.dx.data(), gradient, w.data(), backward);
  conv2d_weight_gradient(queue, how, samples, r.dw.data(), r.db.data(), gradient, x.data());

  // The gap stays as it was.
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = how.out_channels; i < stride; ++i) CHECK(r.y[row * stride + i] == T{-7});
  // The formulas, one element after another.
  double worst = 0;
  const auto differs = [&worst](T found, double expected, std::size_t terms) {
    const double scale = static_cast<double>(std::numeric_limits<T>::epsilon()) * (1 + std::sqrt(static_cast<double>(terms)));
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

constexpr convolution several[] = {
    made(5, 7, 3, 4, 1, axis(3, 1, 1), axis(3, 1, 1)),         // the usual one
    made(6, 5, 2, 50, 1, axis(1), axis(1)),                    // a product
    made(6, 5, 4, 6, 2, axis(1), axis(1)),                     // two products
    made(7, 9, 5, 3, 1, axis(1, 2), axis(1, 3)),               // most inputs meet no window
    made(9, 8, 3, 5, 1, axis(3, 2, 1), axis(2, 2, 0)),         // strides
    made(11, 10, 4, 6, 2, axis(3, 2, 2, 2), axis(3, 1, 3, 3)), // groups and dilations
    made(8, 12, 6, 6, 6, axis(5, 3, 4), axis(3, 4, 2, 2)),     // each channel by itself, and a stride beyond the window
    made(4, 4, 2, 3, 1, axis(4, 1, 3), axis(3, 1, 5)),         // more padding than image on one side
    made(6, 7, 70, 70, 70, axis(3, 2, 1), axis(3, 1, 1)),      // the same with several blocks of channels
    made(9, 6, 3, 2, 1, axis(2, 4, 0, 3), axis(2, 2, 1, 2)),   // a stride and a dilation with a common divisor
    made(6, 6, 70, 60, 1, axis(3, 1, 1), axis(3, 1, 1)),       // several slivers, the last one partial
};

} // namespace

TEST_CASE_TEMPLATE("conv2d: the formulas, whatever the options", T, float, double) {
  for (const convolution& how : several) {
    CAPTURE(how.over.y.stride);
    CAPTURE(how.in_channels);
    for (const std::size_t samples : {1U, 3U}) run<T>(how, samples, 1);
  }
}

TEST_CASE("conv2d: an activation, an addend, a mask and rows apart change nothing else") {
  for (const convolution& how : several) {
    run<float>(how, 2, 1, 3, true);
    const auto plain = run<double>(how, 2, 1), apart = run<double>(how, 2, 1, 5);
    const std::size_t stride = how.out_channels + 5;
    for (std::size_t i = 0; i < plain.y.size(); ++i)
      CHECK(plain.y[i] == apart.y[i / how.out_channels * stride + i % how.out_channels]);
  }
}

TEST_CASE_TEMPLATE("conv2d: the same bits on any number of threads, and of an image whatever others there are", T, float,
                   double) {
  const convolution large[] = {made(17, 19, 20, 33, 1, axis(3, 1, 1), axis(3, 1, 1)),
                               made(18, 15, 24, 36, 2, axis(3, 2, 1), axis(5, 1, 2)),
                               made(17, 15, 130, 130, 130, axis(3, 1, 1), axis(5, 2, 2))};
  for (const convolution& how : large) {
    const auto one = run<T>(how, 4, 1);
    CHECK((run<T>(how, 4, 2) == one));
    CHECK((run<T>(how, 4, 3) == one));
    const auto first = run<T>(how, 1, 1); // the same numbers
    CHECK(std::equal(first.y.begin(), first.y.end(), one.y.begin()));
    CHECK(std::equal(first.dx.begin(), first.dx.end(), one.dx.begin()));
  }
}

TEST_CASE("conv2d: images and weights that do not fit into the scratch at once") {
  run<float>(made(3, 2, 1500, 7, 1, axis(3, 1, 1), axis(2, 1, 1)), 1, 1);   // several blocks of channels
  run<double>(made(2, 2, 600, 130, 1, axis(2, 1, 1), axis(2, 1, 0)), 1, 1); // weights packed term by term
  run<float>(made(3, 3, 512, 5, 1, axis(3, 1, 1), axis(3, 1, 1)), 9, 2);    // some images at a time, with weights likewise
  run<float>(made(2, 9000, 13, 2, 1, axis(2, 1, 0), axis(3, 2, 1)), 1, 1);  // a row in several tiles
  run<double>(made(1, 1, 100000, 2, 1, axis(1, 2), axis(1, 1)), 2, 1);      // not even one pixel of the input,
  run<double>(made(1, 1, 2, 50000, 1, axis(1, 2), axis(1, 1)), 2, 1);       // or of the output
}

TEST_CASE("conv2d: of no samples the gradients of the parameters are zero") {
  cpu device;
  const convolution how = several[0];
  std::vector<float> dw(4 * how.depth(), 5.0F), db(4, 5.0F);
  const float nothing = 0;
  conv2d_weight_gradient(device.compute(), how, 0, dw.data(), db.data(), matrix<const float>{&nothing, 0, 4}, &nothing);
  CHECK(std::count(dw.begin(), dw.end(), 0.0F) == std::ptrdiff_t(dw.size()));
  CHECK(std::count(db.begin(), db.end(), 0.0F) == 4);
}

TEST_CASE_TEMPLATE("conv2d: the kernels of every instruction set make the same, but for how they round", T, float, double) {
  cpu device({.threads = 2});
  auto& queue = device.compute();
  for (const convolution& how : several) {
    const auto expected = run<T>(how, 2, 1);
    const std::size_t outputs = 2 * how.over.outputs(), inputs = 2 * how.over.inputs();
    const auto x = noise<T>(inputs * how.in_channels, 1), w = noise<T>(how.out_channels * how.depth(), 2);
    const auto dy = noise<T>(outputs * how.out_channels, 3), b = noise<T>(how.out_channels, 4);
    const matrix<const T> gradient{dy.data(), outputs, how.out_channels};
    epilogue<T> then{};
    then.bias = b.data();
    for (const detail::instruction_set isa : matmul_case::sets()) {
      passes<T> found{std::vector<T>(expected.y.size(), T{-7}), std::vector<T>(expected.dx.size(), T{-7}),
                      std::vector<T>(w.size(), T{-7}), expected.db};
      CHECK(detail::gather_outputs(queue, isa, how, 2, matrix<T>{found.y.data(), outputs, how.out_channels}, x.data(), w.data(),
                                   then));
      CHECK(detail::gather_input_gradient(queue, isa, how, 2, matrix<T>{found.dx.data(), inputs, how.in_channels}, gradient,
                                          w.data(), {}));
      CHECK(detail::sum_weights_on(queue, isa, how, 2, found.dw.data(), gradient, x.data()));
      double worst = 0;
      const auto compare = [&worst](const std::vector<T>& a, const std::vector<T>& e) {
        for (std::size_t i = 0; i < a.size(); ++i) {
          const double apart = std::fabs(static_cast<double>(a[i]) - static_cast<double>(e[i]));
          worst = apart <= worst ? worst : apart; // NaN counts
        }
      };
      compare(found.y, expected.y);
      compare(found.dx, expected.dx);
      compare(found.dw, expected.dw);
      CHECK(worst < 200 * static_cast<double>(std::numeric_limits<T>::epsilon()));
    }
  }
}

} // namespace conv2d_conv2d_tests
