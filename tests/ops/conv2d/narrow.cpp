// SPDX-License-Identifier: MIT
// long to compile
#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/ops/conv2d/cpu.hpp>

#include "../narrow.hpp"

namespace conv2d_narrow_tests {

using namespace cairn;

namespace {

template <class T>
void check(const ops::convolution& how, bool spoilt = false) {
  constexpr std::size_t samples = 2;
  const float slack = detail::is_depthwise(how) ? 0 : 1e-5F; // a depthwise one adds in the order of float's
  cpu device({.threads = 2});
  auto& queue = device.compute();
  const std::size_t outputs = samples * how.over.outputs(), inputs = samples * how.over.inputs();
  auto x = narrow::normal<T>(inputs * how.in_channels, 1), dy = narrow::normal<T>(outputs * how.out_channels, 2);
  if (spoilt) { // each at a corner
    x.own.front() = T(std::numeric_limits<float>::infinity());
    dy.own.back() = T(std::numeric_limits<float>::quiet_NaN());
    x.wide.front() = static_cast<float>(x.own.front());
    dy.wide.back() = static_cast<float>(dy.own.back());
  }
  const auto w = narrow::normal<T>(how.out_channels * how.depth(), 3), b = narrow::normal<T>(how.out_channels, 4);
  ops::epilogue<T> own_then{};
  ops::epilogue<float> wide_then{};
  own_then.bias = b.own.data();
  wide_then.bias = b.wide.data();
  std::vector<T> own(dy.own.size());
  std::vector<float> wide(dy.own.size());
  conv2d_forward(queue, how, samples, ops::matrix<T>{own.data(), outputs, how.out_channels}, x.own.data(), w.own.data(),
                 own_then);
  conv2d_forward(queue, how, samples, ops::matrix<float>{wide.data(), outputs, how.out_channels}, x.wide.data(), w.wide.data(),
                 wide_then);
  CHECK(narrow::wrong(own, wide, slack) == 0);

  own.resize(x.own.size());
  wide.resize(x.own.size());
  own_then = {.addend = {x.own.data(), inputs, how.in_channels}, .mask = {x.own.data(), inputs, how.in_channels}};
  wide_then = {.addend = {x.wide.data(), inputs, how.in_channels}, .mask = {x.wide.data(), inputs, how.in_channels}};
  const ops::matrix<const T> own_gradient{dy.own.data(), outputs, how.out_channels};
  const ops::matrix<const float> wide_gradient{dy.wide.data(), outputs, how.out_channels};
  conv2d_input_gradient(queue, how, samples, own.data(), own_gradient, w.own.data(), own_then);
  conv2d_input_gradient(queue, how, samples, wide.data(), wide_gradient, w.wide.data(), wide_then);
  CHECK(narrow::wrong(own, wide, slack) == 0);

  std::vector<float> own_w(w.own.size()), wide_w(w.own.size()), own_b(how.out_channels), wide_b(how.out_channels);
  conv2d_weight_gradient(queue, how, samples, own_w.data(), own_b.data(), own_gradient, x.own.data());
  conv2d_weight_gradient(queue, how, samples, wide_w.data(), wide_b.data(), wide_gradient, x.wide.data());
  CHECK(narrow::wrong(own_w, wide_w, slack) == 0);
  CHECK(narrow::wrong(own_b, wide_b, slack) == 0);
}

constexpr ops::convolution usual{{ops::fitted({5, 0, 3, 1, 1}), ops::fitted({6, 0, 3, 1, 1})}, 4, 6, 1};
constexpr ops::convolution other{{ops::fitted({7, 0, 3, 2, 2, 2}), ops::fitted({5, 0, 2, 1, 0})}, 4, 6, 2};
// Several slivers of columns, and rows of outputs that are products of their own.
constexpr ops::convolution wide_map{{ops::fitted({9, 0, 3, 1, 1}), ops::fitted({31, 0, 3, 1, 1})}, 20, 70, 1};
// More taps and channels than one term has, and more weights than are packed at once.
constexpr ops::convolution deep{{ops::fitted({3, 0, 3, 1, 1}), ops::fitted({3, 0, 3, 1, 1})}, 400, 70, 1};
// Every channel is a group of its own: two steps of vectors and a rest; more taps than a chain has; rows that are widened in
// several tiles; more channels than are taken at once, and an image of which so many do not fit into the scratch.
constexpr ops::convolution depthwise[] = {
    {{ops::fitted({5, 0, 3, 1, 1}), ops::fitted({6, 0, 3, 1, 1})}, 70, 70, 70},
    {{ops::fitted({9, 0, 3, 2, 2, 2}), ops::fitted({7, 0, 2, 3, 1})}, 5, 5, 5},
    {{ops::fitted({13, 0, 12, 1, 6}), ops::fitted({14, 0, 12, 1, 5})}, 36, 36, 36},
    {{ops::fitted({90, 0, 3, 1, 1}), ops::fitted({60, 0, 3, 1, 1})}, 128, 128, 128},
    {{ops::fitted({3, 0, 3, 1, 1}), ops::fitted({2, 0, 1})}, 600, 600, 600},
    {{ops::fitted({9, 0, 9, 1, 4}), ops::fitted({400, 0, 1})}, 512, 512, 512},
};
constexpr ops::convolution product{{ops::fitted({3, 0, 1}), ops::fitted({4, 0, 1})}, 5, 7, 1};

} // namespace

TEST_CASE("conv2d: of 16-bit elements it is that of float, rounded once, and gradients of parameters are float") {
  for (const ops::convolution& how : {usual, other, wide_map, product}) {
    check<bfloat16>(how);
    check<float16>(how);
  }
  check<bfloat16>(deep);
}

TEST_CASE("conv2d: of 16-bit elements with a group for each channel it has the bits of float, rounded once") {
  for (const ops::convolution& how : depthwise) {
    CAPTURE(how.groups);
    check<bfloat16>(how);
    check<float16>(how);
  }
}

TEST_CASE("conv2d: of 16-bit elements that are not finite it is that of float") {
  for (const ops::convolution& how : {usual, other, product, depthwise[0], depthwise[1]}) {
    check<bfloat16>(how, true);
    check<float16>(how, true);
  }
}

} // namespace conv2d_narrow_tests
