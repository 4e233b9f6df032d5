// SPDX-License-Identifier: MIT
// Convolutions, pools, and norms of channels and groups, of 16-bit elements, agree with the cpu's on the same elements.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/cuda.cuh>
#include <cairn/ops/ops.hpp>

#include "../../cuda/sixteen_bits.hpp"

namespace ops_cuda_sixteen_bits_images_tests {

using namespace cairn;
using testing::narrow_apart, testing::narrow_operands, testing::normal;

static_assert(detail::conv2d_runs_on<cuda::queue, bfloat16> && detail::conv2d_runs_on<cuda::queue, float16>);
static_assert(detail::max_pool2d_runs_on<cuda::queue, bfloat16> && detail::max_pool2d_runs_on<cuda::queue, float16>);
static_assert(detail::avg_pool2d_runs_on<cuda::queue, bfloat16> && detail::avg_pool2d_runs_on<cuda::queue, float16>);
static_assert(detail::batch_norm_runs_on<cuda::queue, bfloat16> && detail::batch_norm_runs_on<cuda::queue, float16>);
static_assert(detail::group_norm_runs_on<cuda::queue, bfloat16> && detail::group_norm_runs_on<cuda::queue, float16>);
static_assert(detail::channel_statistics_runs_on<cuda::queue, bfloat16>);
static_assert(detail::normalized_product_runs_on<cuda::queue, bfloat16>);
static_assert(detail::normalized_conv2d_runs_on<cuda::queue, bfloat16>);

namespace {

ops::window_axis axis_of(std::size_t in, std::size_t kernel, std::size_t stride) {
  return ops::fitted({.in = in, .kernel = kernel, .stride = stride, .padding = kernel / 2, .dilation = 1});
}
ops::window square(std::size_t side, std::size_t kernel, std::size_t stride) {
  return {axis_of(side, kernel, stride), axis_of(side, kernel, stride)};
}
std::vector<double> positive(std::size_t count, std::uint32_t which) {
  std::vector<double> x = normal(count, which);
  for (double& e : x) e = e * e + 0.25;
  return x;
}
std::vector<double> times(double factor, std::vector<double> x) {
  for (double& e : x) e *= factor;
  return x;
}

} // namespace

TEST_CASE_TEMPLATE("cuda, 16 bits: convolutions of every kernel agree with the cpu's, and weight gradients are sums of floats", T,
                   bfloat16, float16) {
  struct shape {
    ops::convolution how;
    std::size_t gap = 0;
  };
  for (const shape& of :
       {shape{{square(5, 3, 1), 8, 8}}, shape{{square(5, 3, 2), 24, 24}}, shape{{square(3, 1, 2), 60, 64}},
        shape{{square(4, 3, 1), 6, 10, 2}, 3}, shape{{square(5, 3, 2), 4, 8, 4}, 1}, shape{{square(4, 1, 1), 8, 16}}}) {
    const ops::convolution& how = of.how;
    CAPTURE(how.in_channels);
    CAPTURE(how.out_channels);
    constexpr std::size_t samples = 2;
    const std::size_t inputs = samples * how.over.inputs(), outputs = samples * how.over.outputs();
    const std::size_t in = how.in_channels, out = how.out_channels, weights = out * how.depth(), stride = out + of.gap;
    const narrow_operands all{.in = {normal(inputs * in, 1),
                                     times(1 / std::sqrt(static_cast<double>(how.depth())), normal(weights, 2)), normal(out, 3),
                                     normal(outputs * stride, 4), normal(outputs * out, 5), normal(inputs * in, 6)},
                              .out = {normal(outputs * stride, 7), normal(inputs * in, 8)},
                              .sums = {normal(weights, 9), normal(out, 10)}};
    for (const bool fused : {true, false}) {
      if (how.is_product() && fused) continue; // matmul's
      CHECK(narrow_apart<T>(all, [&](auto& q, const auto& g) {
              const ops::matrix<const T> dy(g.in[3], outputs, out, stride);
              ops::epilogue<T> then, back;
              if (fused) {
                then = {.bias = g.in[2], .then = ops::activation::relu, .addend = {g.in[4], outputs, out}};
                back.addend = {g.in[5], inputs, in};
                back.mask = {g.in[0], inputs, in};
              }
              conv2d_forward(q, how, samples, ops::matrix<T>(g.out[0], outputs, out, stride), g.in[0], g.in[1], then);
              conv2d_input_gradient(q, how, samples, g.out[1], dy, g.in[1], back);
              conv2d_weight_gradient(q, how, samples, g.sums[0], g.sums[1], dy, g.in[0]);
            }) <= 1);
    }
  }
}

// Sums of products of small integers are exact in any order, so every bit of a result that is rounded once is the cpu's.
TEST_CASE("cuda, 16 bits: a convolution is rounded once, after its whole epilogue") {
  for (const ops::convolution& how : {ops::convolution{square(4, 3, 1), 8, 12}, ops::convolution{square(4, 3, 1), 4, 4, 4}}) {
    const std::size_t pixels = how.over.inputs(), in = how.in_channels, out = how.out_channels;
    narrow_operands all{.in = {normal(pixels * in, 1), normal(out * how.depth(), 2), normal(out, 3), normal(pixels * out, 4)},
                        .out = {normal(pixels * out, 5)}};
    for (auto& x : all.in)
      for (double& e : x) e = std::rint(4 * e + 10);
    const auto op = [&](auto& q, const auto& g) {
      const ops::epilogue<bfloat16> then{.bias = g.in[2], .then = ops::activation::relu, .addend = {g.in[3], pixels, out}};
      conv2d_forward(q, how, 1, ops::matrix<bfloat16>(g.out[0], pixels, out), g.in[0], g.in[1], then);
    };
    const auto there = testing::narrow_of_gpu<bfloat16>(all, op), here = testing::narrow_of_cpu<bfloat16>(all, op);
    std::size_t others = 0;
    for (std::size_t i = 0; i < here.out[0].size(); ++i) others += there.out[0][i].bits != here.out[0][i].bits;
    CHECK(others == 0);
  }
}

TEST_CASE_TEMPLATE("cuda, 16 bits: pools agree with the cpu's", T, bfloat16, float16) {
  for (const std::size_t channels : {8U, 5U}) {
    const ops::window over = square(5, 3, 2);
    const std::size_t inputs = 2 * over.inputs() * channels, outputs = 2 * over.outputs() * channels;
    narrow_operands all{.in = {normal(inputs, 1), normal(outputs, 2)},
                        .out = {normal(outputs, 3), normal(inputs, 4), normal(outputs, 5), normal(inputs, 6)}};
    all.in[0][7] = NAN;
    CHECK(narrow_apart<T>(all, [&](auto& q, const auto& g) {
            max_pool2d_forward(q, over, 2, channels, g.out[0], g.in[0]);
            max_pool2d_backward(q, over, 2, channels, g.out[1], g.in[1], g.in[0]);
            avg_pool2d_forward(q, over, ops::mean_of::pixels, 2, channels, g.out[2], g.in[0]);
            avg_pool2d_backward(q, over, ops::mean_of::pixels, 2, channels, g.out[3], g.in[1]);
          }) <= 1);
  }
}

TEST_CASE_TEMPLATE("cuda, 16 bits: batch norms agree with the cpu's, also in parts, and a ReLU takes what was rounded", T,
                   bfloat16, float16) {
  for (const std::size_t features : {5U, 16U})
    for (const ops::activation relu : {ops::activation::none, ops::activation::relu}) {
      constexpr std::size_t rows = 37;
      const std::size_t count = rows * features;
      const narrow_operands all{.in = {normal(count, 1), normal(features, 2), normal(features, 3), normal(count, 4)},
                                .out = {normal(count, 5), normal(count, 6), normal(count, 7), normal(count, 8)},
                                .sums = {normal(2 * features, 9), normal(features, 10), positive(features, 11),
                                         normal(2 * features, 12), normal(features, 13), normal(features, 14),
                                         normal(features, 15), normal(features, 16)},
                                .doubles = {normal(2 * features + 1, 17), normal(2 * features + 1, 18)}};
      CHECK(narrow_apart<T>(all, [&](auto& q, const auto& g) {
              const T *const x = g.in[0], *const w = g.in[1], *const b = g.in[2], *const dy = g.in[3];
              const float *const found = g.sums[0], *const mean = g.sums[1], *const variance = g.sums[2], *const of = g.sums[3];
              batch_norm_forward(q, rows, features, 1e-5, g.out[0], g.sums[0], x, w, b, relu,
                                 ops::running_statistics<T>{0.1, g.sums[1], g.sums[2]});
              batch_norm_evaluate(q, rows, features, 1e-5, g.out[1], x, mean, variance, w, b, relu);
              batch_norm_backward(q, rows, features, 1e-5, g.out[2], g.sums[4], g.sums[5], dy, x, found, w, relu);
              batch_norm_sums(q, rows, features, g.doubles[0], x);
              batch_norm_statistics(q, features, g.sums[3], g.doubles[0]);
              batch_norm_gradient_sums(q, rows, features, 1e-5, g.doubles[1], g.sums[6], g.sums[7], dy, x, of);
              batch_norm_update(q, features, 0.1, g.sums[1], g.sums[2], of, g.doubles[0] + 2 * features);
              batch_norm_input_gradient(q, rows, features, 1e-5, g.out[3], dy, x, of, w, g.doubles[0], relu);
            }) <= 1);
    }
  // The first result is so small that it is rounded to -0, which a ReLU leaves as it is.
  const double weight = std::is_same_v<T, bfloat16> ? 1e-22 : 1e-4;
  const narrow_operands all{.in = {{-1, 1, 0}, {weight}, {0}}, .out = {{1, 1, 1}}, .sums = {{0}, {1e38}}};
  const auto evaluate = [](auto& q, const auto& g) {
    const float *const mean = g.sums[0], *const variance = g.sums[1];
    batch_norm_evaluate(q, 3, 1, 0, g.out[0], g.in[0], mean, variance, g.in[1], g.in[2], ops::activation::relu);
  };
  const auto there = testing::narrow_of_gpu<T>(all, evaluate), here = testing::narrow_of_cpu<T>(all, evaluate);
  CHECK(here.out[0][0].bits == 0x8000);
  for (std::size_t i = 0; i < 3; ++i) CHECK(there.out[0][i].bits == here.out[0][i].bits);
}

TEST_CASE_TEMPLATE("cuda, 16 bits: group norms, and statistics of channels, agree with the cpu's", T, bfloat16, float16) {
  for (const std::size_t channels : {6U, 16U}) {
    const ops::channel_groups of{.samples = 2, .pixels = channels < 16 ? 7U : 70U, .channels = channels, .groups = 2};
    const std::size_t rows = of.samples * of.pixels, count = rows * channels;
    const narrow_operands all{.in = {normal(count, 1), normal(channels, 2), normal(channels, 3), normal(count, 4)},
                              .out = {normal(count, 5), normal(count, 6), normal(count, 7)},
                              .sums = {normal(of.samples * of.groups * 2, 8), normal(channels, 9), normal(channels, 10),
                                       normal(2 * channels, 11), normal(2 * channels, 12)}};
    CHECK(narrow_apart<T>(all, [&](auto& q, const auto& g) {
            const T *const x = g.in[0], *const w = g.in[1], *const dy = g.in[3];
            const float *const found = g.sums[0], *const statistics = g.sums[3], *const by = g.sums[4];
            group_norm_forward(q, of, 1e-5, g.out[0], g.sums[0], x, w, g.in[2]);
            group_norm_backward(q, of, g.out[1], g.sums[1], g.sums[2], dy, x, found, w);
            const ops::matrix<const T> map(x, rows, channels);
            channel_statistics(q, map, g.sums[3]);
            channel_statistics_backward(q, ops::matrix<T>(g.out[2], rows, channels), ops::matrix<const T>(dy, rows, channels),
                                        map, statistics, by);
          }) <= 1);
  }
}

TEST_CASE_TEMPLATE("cuda, 16 bits: products and convolutions of normalized maps agree with the cpu's", T, bfloat16, float16) {
  constexpr std::size_t in = 5, out = 3;
  const ops::convolution how{square(4, 3, 1), in, out};
  const std::size_t rows = 2 * how.over.inputs();
  constexpr std::size_t of_product = 260; // so many that a weight's team has 256 threads
  const ops::normalized_product_room needed = ops::room_of_normalized_product(of_product, in, out);
  const narrow_operands all{
      .in = {normal(rows * in, 1), normal(in, 2), normal(in, 3), times(0.2, normal(out * how.depth(), 4)), normal(rows * out, 5),
             times(0.5, normal(out * in, 6)), normal(of_product * in, 7), normal(of_product * in, 27),
             normal(of_product * out, 28)},
      .out = {normal(rows * out, 8), normal(rows * in, 9), normal(of_product * out, 10), normal(of_product * in, 11)},
      .sums = {normal(in, 13), positive(in, 14), normal(2 * out, 15), normal(2 * in, 16), normal(in, 17), normal(in, 18),
               normal(out * how.depth(), 19), normal(2 * out, 20), normal(2 * out, 21), normal(2 * in, 22), normal(in, 23),
               normal(in, 24), normal(out * in, 25)},
      .scratch = needed.weight + 3 * (in + out) + std::max(needed.partial, 4 * std::max(in, out))};
  CHECK(narrow_apart<T>(all, [&](auto& q, const auto& g) {
          const ops::channel_norm<T> norm = ops::channel_norm<T>::of_running(g.sums[0], g.sums[1], 1e-5, g.in[1], g.in[2]);
          const ops::matrix<const T> dy(g.in[4], rows, out), x(g.in[7], of_product, in), dh(g.in[8], of_product, out);
          float *const scales = g.scratch + needed.weight, *const partial = scales + 3 * (in + out);
          normalized_conv2d_forward(q, how, 2, ops::matrix<T>(g.out[0], rows, out), g.sums[2], g.in[0], norm, g.in[3], scales,
                                    partial);
          normalized_conv2d_backward(q, how, 2,
                                     ops::normalized_conv2d_gradients<T>{g.out[1], g.sums[3], g.sums[4], g.sums[5], g.sums[6]},
                                     dy, g.in[0], norm, g.in[3], scales, partial);
          const ops::matrix<T> h(g.out[2], of_product, out);
          normalized_product_forward(q, h, g.sums[7], x, norm, g.in[5],
                                     ops::normalized_product_memory<T>{g.scratch, scales, partial});
          const float *const statistics = g.sums[7], *const by = g.sums[8];
          normalized_product_backward(q,
                                      ops::normalized_product_gradients<T>{ops::matrix<T>(g.out[3], of_product, in),
                                                                           ops::matrix<const T>(g.in[6], of_product, in),
                                                                           g.sums[9], g.sums[10], g.sums[11], g.sums[12]},
                                      dh, ops::matrix<const T>(h), statistics, by, x, norm, g.in[5], scales);
        }) <= 1);
}

} // namespace ops_cuda_sixteen_bits_images_tests
