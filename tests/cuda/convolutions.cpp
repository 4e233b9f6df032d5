// SPDX-License-Identifier: MIT
// A test of which convolutions are products of matrices on a GPU. It runs on the fake runtime.
#include <cstddef>
#include <type_traits>

#include <cairn/ops/cpu.hpp>
#include <cairn/ops/cuda.cuh>
#include <doctest/doctest.h>

#include "agree.hpp"
#include "fake/fake.hpp"

namespace cuda_convolutions_tests {

using namespace cairn;
using testing::normal;

namespace {

// The products in the three passes of a convolution of 5 x 5 images, with a bias gradient.
std::size_t products_of(std::size_t kernel, std::size_t stride, std::size_t padding, std::size_t groups) {
  const ops::window_axis axis = ops::fitted({.in = 5, .kernel = kernel, .stride = stride, .padding = padding});
  const ops::convolution how{{axis, axis}, 4, 6, groups};
  constexpr std::size_t samples = 3;
  const std::size_t in = samples * how.over.inputs() * how.in_channels, pixels = samples * how.over.outputs();
  const std::size_t weights = how.out_channels * how.depth(), out = how.out_channels;
  const testing::operands all{.in = {normal(in, 1), normal(weights, 2), normal(pixels * out, 3)},
                              .out = {normal(pixels * out, 4), normal(in, 5), normal(weights, 6), normal(out, 7)}};
  fake::reset();
  CHECK(testing::apart<float>(all, [&](auto& q, const auto& g) {
          using T = std::remove_cvref_t<decltype(*g.in[0])>;
          const ops::matrix<const T> dy(g.in[2], pixels, out);
          conv2d_forward(q, how, samples, ops::matrix(g.out[0], pixels, out), g.in[0], g.in[1], {});
          conv2d_input_gradient(q, how, samples, g.out[1], dy, g.in[1], {});
          conv2d_weight_gradient(q, how, samples, g.out[2], g.out[3], dy, g.in[0]);
        }) <= 1e-5);
  return fake::counted().products;
}

} // namespace

TEST_CASE("cuda: a convolution of single pixels, without stride, padding or groups, is a product in all three passes") {
  CHECK(products_of(1, 1, 0, 1) == 3);
  CHECK(products_of(3, 1, 1, 1) == 0);
  CHECK(products_of(1, 2, 0, 1) == 0);
  CHECK(products_of(1, 1, 1, 1) == 0);
  CHECK(products_of(1, 1, 0, 2) == 0);
}

} // namespace cuda_convolutions_tests
