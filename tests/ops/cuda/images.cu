// SPDX-License-Identifier: MIT
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/cuda.cuh>

#include "../../cuda/agree.hpp"

namespace ops_cuda_images_tests {

using namespace cairn;
using testing::normal;

namespace {

ops::window window_of(std::size_t in, std::size_t kernel, std::size_t stride, std::size_t padding, std::size_t dilation) {
  const auto axis = [&](std::size_t extent) {
    return ops::fitted({.in = extent, .kernel = kernel, .stride = stride, .padding = padding, .dilation = dilation});
  };
  return {axis(in), axis(in + 1)};
}

} // namespace

TEST_CASE("cuda: convolutions agree with the cpu's") {
  constexpr std::size_t samples = 2;
  for (const ops::convolution& how :
       {ops::convolution{window_of(7, 3, 1, 1, 1), 4, 6, 1}, ops::convolution{window_of(8, 3, 2, 1, 2), 6, 4, 2},
        ops::convolution{window_of(5, 1, 1, 0, 1), 3, 2, 1}, ops::convolution{window_of(4, 1, 1, 0, 1), 16, 24, 1},
        ops::convolution{window_of(5, 1, 2, 0, 1), 3, 2, 1}, ops::convolution{window_of(17, 3, 1, 1, 1), 4, 6, 1}}) {
    const std::size_t in = samples * how.over.inputs() * how.in_channels, pixels = samples * how.over.outputs(),
                      weights = how.out_channels * how.depth(), out = how.out_channels;
    const testing::operands all{.in = {normal(in, 1), normal(weights, 2), normal(out, 3), normal(pixels * out, 4), normal(in, 5)},
                                .out = {normal(pixels * (out + 1), 6), normal(in, 7), normal(weights, 8), normal(out, 9)}};
    const auto passes = [&](auto& q, const auto& g) {
      using T = std::remove_cvref_t<decltype(*g.in[0])>;
      const ops::matrix<const T> dy(g.in[3], pixels, out);
      ops::epilogue<T> then{.bias = g.in[2], .then = ops::activation::relu}, back;
      back.mask = {g.in[4], in / how.in_channels, how.in_channels, how.in_channels};
      conv2d_forward(q, how, samples, ops::matrix(g.out[0], pixels, out, out + 1), g.in[0], g.in[1], then);
      conv2d_input_gradient(q, how, samples, g.out[1], dy, g.in[1], back);
      conv2d_weight_gradient(q, how, samples, g.out[2], g.out[3], dy, g.in[0]);
    };
    // a product that is not aligned may get another algorithm, and so other bits
    const char* const bound = how.over.outputs() > 256 ? "conv2d of many pixels" : "conv2d";
    CHECK(testing::over(bound, all, passes, !how.is_product()) <= 1);
    if (how.is_product()) CHECK(testing::apart<float>(all, passes, 1) <= 1e-5);
  }
}

TEST_CASE("cuda: pools agree with the cpu's, where windows overlap and where elements are equal") {
  constexpr std::size_t samples = 2;
  for (const std::size_t channels : {3U, 8U})
    for (const ops::window& over : {window_of(6, 2, 2, 0, 1), window_of(7, 3, 2, 1, 1), window_of(7, 3, 1, 1, 1)}) {
      const std::size_t in = samples * over.inputs() * channels, out = samples * over.outputs() * channels;
      testing::operands all{.in = {normal(in, 1), normal(out, 2)}, .out = {normal(out, 3), normal(in, 4)}};
      const auto pooled = [&] {
        return testing::over("max_pool2d", all, [&](auto& q, const auto& g) {
          max_pool2d_forward(q, over, samples, channels, g.out[0], g.in[0]);
          max_pool2d_backward(q, over, samples, channels, g.out[1], g.in[1], g.in[0]);
        });
      };
      CHECK(pooled() <= 1);
      for (double& n : all.in[0]) n = n > 0 ? 1 : -1;
      CHECK(pooled() <= 1);
      for (const ops::mean_of which : {ops::mean_of::window, ops::mean_of::pixels, ops::mean_of::adaptive})
        CHECK(testing::over("avg_pool2d", all, [&](auto& q, const auto& g) {
                avg_pool2d_forward(q, over, which, samples, channels, g.out[0], g.in[0]);
                avg_pool2d_backward(q, over, which, samples, channels, g.out[1], g.in[1]);
              }) <= 1);
    }
}

// One chain of floats over these 10 000 equal elements would have 18 times the error that a short window may have.
TEST_CASE("cuda: the mean of a long window is as near as that of a short one") {
  constexpr std::size_t side = 100, channels = 3;
  const ops::window over{{side, 1}, {side, 1}};
  const testing::operands all{.in = {std::vector<double>(side * side * channels, 0.1)}, .out = {normal(channels, 1)}};
  CHECK(testing::over("avg_pool2d", all, [&](auto& q, const auto& g) {
          avg_pool2d_forward(q, over, ops::mean_of::adaptive, 1, channels, g.out[0], g.in[0]);
        }) <= 1);
}

} // namespace ops_cuda_images_tests
