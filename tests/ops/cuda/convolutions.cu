// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <cairn/ops/conv2d/reference.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/cuda.cuh>

#include "../../cuda/agree.hpp"

#if CAIRN_ON_EMULATOR
#include "../../cuda/emulator/emulator.hpp"
#endif

namespace ops_cuda_convolutions_tests {

using namespace cairn;
using testing::normal;

namespace {

ops::window_axis axis_of(std::size_t in, std::size_t kernel, std::size_t stride = 1, std::size_t padding = 0,
                         std::size_t dilation = 1) {
  return ops::fitted({.in = in, .kernel = kernel, .stride = stride, .padding = padding, .dilation = dilation});
}
ops::convolution square(std::size_t side, std::size_t kernel, std::size_t stride, std::size_t in, std::size_t out,
                        std::size_t groups = 1) {
  const ops::window_axis axis = axis_of(side, kernel, stride, kernel / 2);
  return {{axis, axis}, in, out, groups};
}

struct extents {
  std::size_t inputs, outputs, weights;
  extents(const ops::convolution& how, std::size_t samples)
      : inputs(samples * how.over.inputs()), outputs(samples * how.over.outputs()), weights(how.out_channels * how.depth()) {}
};

// Operands of all passes; the output and its gradient have `gap` elements between two rows. Weights are so small that outputs
// are about as large as inputs.
testing::operands operands_of(const ops::convolution& how, std::size_t samples, std::size_t gap) {
  const extents n(how, samples);
  const std::size_t stride = how.out_channels + gap;
  testing::operands all{.in = {normal(n.inputs * how.in_channels, 1), normal(n.weights, 2), normal(how.out_channels, 3),
                               normal(n.outputs * stride, 4), normal(n.outputs * how.out_channels, 5)},
                        .out = {normal(n.outputs * stride, 6), normal(n.inputs * how.in_channels, 7), normal(n.weights, 8),
                                normal(how.out_channels, 9)}};
  for (double& w : all.in[1]) w /= std::sqrt(static_cast<double>(how.depth()));
  for (double& dy : all.in[3]) dy /= std::sqrt(static_cast<double>(n.outputs));
  return all;
}

// All passes; `fused` with everything that an epilogue has.
auto passes_of(const ops::convolution& how, std::size_t samples, std::size_t gap, bool fused) {
  return [=](auto& q, const auto& g) {
    using T = std::remove_cvref_t<decltype(*g.in[0])>;
    const extents n(how, samples);
    const std::size_t out = how.out_channels;
    const ops::matrix<const T> dy(g.in[3], n.outputs, out, out + gap);
    ops::epilogue<T> then, back;
    if (fused) {
      then = {.bias = g.in[2], .then = ops::activation::relu, .addend = {g.in[4], n.outputs, out}};
      back.addend = {g.out[1], n.inputs, how.in_channels};
      back.mask = {g.in[0], n.inputs, how.in_channels};
    }
    conv2d_forward(q, how, samples, ops::matrix(g.out[0], n.outputs, out, out + gap), g.in[0], g.in[1], then);
    conv2d_input_gradient(q, how, samples, g.out[1], dy, g.in[1], back);
    conv2d_weight_gradient(q, how, samples, g.out[2], g.out[3], dy, g.in[0]);
  };
}

} // namespace

TEST_CASE("cuda: convolutions of all widths of tiles, strides, dilations and groups agree with the cpu's") {
  struct shape {
    ops::convolution how;
    std::size_t samples = 2, gap = 0;
  };
  for (const shape& of : {shape{square(9, 3, 1, 3, 16)}, shape{square(9, 3, 1, 16, 16), 3}, shape{square(8, 3, 1, 32, 32), 2, 4},
                          shape{square(6, 3, 1, 64, 64)}, shape{square(9, 3, 2, 16, 32), 2, 3}, shape{square(8, 1, 2, 16, 32)},
                          shape{square(7, 3, 3, 5, 7)}, shape{square(5, 3, 1, 32, 80, 2)}, shape{square(6, 5, 1, 9, 33, 3), 2, 1},
                          shape{{{axis_of(9, 3, 2, 2, 2), axis_of(8, 3, 1, 3, 3)}, 8, 12, 2}},
                          shape{{{axis_of(8, 5, 3, 4), axis_of(12, 3, 4, 2, 2)}, 6, 10, 1}},
                          shape{{{axis_of(9, 2, 4, 0, 3), axis_of(6, 2, 2, 1, 2)}, 20, 18, 1}},
                          shape{{{axis_of(11, 3, 3, 0, 2), axis_of(12, 4, 3, 1, 2)}, 4, 8, 1}},
                          shape{{{axis_of(4, 4, 1, 3), axis_of(4, 3, 1, 5)}, 4, 40, 1}}}) {
    const ops::convolution& how = of.how;
    CAPTURE(how.in_channels);
    CAPTURE(how.out_channels);
    CAPTURE(how.over.y.kernel);
    CAPTURE(how.over.y.stride);
    const testing::operands all = operands_of(how, of.samples, of.gap);
    for (const bool fused : {true, false}) {
      CHECK(testing::over("conv2d", all, passes_of(how, of.samples, of.gap, fused)) <= 1);
      if (CAIRN_ON_EMULATOR) break; // it would take minutes
    }
  }
}

TEST_CASE("cuda: convolutions whose groups have one input channel agree with the cpu's") {
  for (const ops::convolution& how : {square(9, 3, 1, 24, 24, 24), square(8, 5, 2, 7, 21, 7), square(6, 3, 1, 1, 8),
                                      ops::convolution{{axis_of(8, 5, 3, 4), axis_of(13, 3, 4, 2, 2)}, 6, 6, 6}}) {
    CAPTURE(how.in_channels);
    for (const bool fused : {false, true})
      CHECK(testing::over("conv2d", operands_of(how, 2, 1), passes_of(how, 2, 1, fused)) <= 1);
  }
}

TEST_CASE("cuda: weight gradients that are sums of many parts agree with the cpu's") {
  struct shape {
    ops::convolution how;
    std::size_t samples;
  };
  for (const shape& of : {shape{square(33, 3, 1, 4, 5), 2}, shape{square(24, 1, 2, 4, 20), 9}, shape{square(20, 1, 2, 4, 36), 7}})
    CHECK(testing::over("conv2d", operands_of(of.how, of.samples, 0), passes_of(of.how, of.samples, 0, false)) <= 1);
}

TEST_CASE("cuda: parts of a weight gradient that have several chunks agree with the cpu's") {
  const ops::convolution how = square(28, 1, 2, 4, 36);
  constexpr std::size_t samples = 5; // 980 pixels, in chunks of 256 or fewer
  for (const std::size_t most : {1U, 2U})
    CHECK(testing::over("conv2d", operands_of(how, samples, 0), [&](auto& q, const auto& g) {
            using T = std::remove_cvref_t<decltype(*g.in[0])>;
            const ops::matrix<const T> dy(g.in[3], samples * how.over.outputs(), how.out_channels);
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, cuda::queue>)
              detail::launch_weight_product<64>(q, "conv2d_weight_gradient", how, g.out[2], dy, g.in[0], most);
            else conv2d_weight_gradient(q, how, samples, g.out[2], static_cast<T*>(nullptr), dy, g.in[0]);
          }) <= 1);
}

// The second of three images, and of a convolution of a single one.
TEST_CASE("cuda: the bits of a convolution depend neither on the other images nor on what is done with an element afterwards") {
  for (const ops::convolution& how : {square(9, 3, 1, 16, 16), square(7, 3, 2, 12, 40), square(8, 3, 1, 6, 6, 6)}) {
    const testing::operands three = operands_of(how, 3, 0);
    testing::operands one = three;
    const auto only_second = [](std::vector<double>& x) {
      const std::size_t n = x.size() / 3;
      x = std::vector<double>(x.begin() + static_cast<std::ptrdiff_t>(n), x.begin() + static_cast<std::ptrdiff_t>(2 * n));
    };
    for (const std::size_t i : {0U, 3U, 4U}) only_second(one.in[i]);
    for (const std::size_t i : {0U, 1U}) only_second(one.out[i]);
    const auto of_three = testing::of_gpu<float>(three, passes_of(how, 3, 0, false));
    const auto of_one = testing::of_gpu<float>(one, passes_of(how, 1, 0, false));
    const auto fused = testing::of_gpu<float>(one, passes_of(how, 1, 0, true));
    for (const std::size_t i : {0U, 1U}) {
      const std::size_t n = of_one.out[i].size();
      CHECK(std::equal(of_one.out[i].begin(), of_one.out[i].end(), of_three.out[i].begin() + static_cast<std::ptrdiff_t>(n)));
    }
    std::vector<float> after = of_one.out[0];
    for (std::size_t at = 0; at < after.size(); ++at) {
      const float v = after[at] + static_cast<float>(one.in[2][at % how.out_channels]);
      after[at] = (v < 0 ? 0 : v) + static_cast<float>(one.in[4][at]);
    }
    CHECK(after == fused.out[0]);
    std::vector<float> back = of_one.out[1];
    for (std::size_t at = 0; at < back.size(); ++at)
      back[at] = one.in[0][at] <= 0 ? 0 : back[at] + static_cast<float>(one.out[1][at]);
    CHECK(back == fused.out[1]);
  }
}

// At a corner, at an edge and inside.
TEST_CASE("cuda: a NaN reaches those gradients of weights that are sums with it, and no others") {
  constexpr std::size_t samples = 2;
  for (const ops::convolution& how : {square(5, 3, 1, 3, 4), square(6, 3, 2, 4, 20), square(5, 3, 1, 4, 4, 4)})
    for (const std::size_t pixel : {std::size_t{0}, how.over.outputs() - 1, how.over.outputs() / 2})
      for (const bool in_gradient : {false, true}) {
        testing::operands all = operands_of(how, samples, 0);
        all.in[in_gradient ? 3 : 0][pixel * (in_gradient ? how.out_channels : how.in_channels) + 1] = NAN;
        const auto found = testing::of_gpu<float>(all, passes_of(how, samples, 0, false));
        const ops::matrix<const double> dy{all.in[3].data(), samples * how.over.outputs(), how.out_channels};
        std::size_t wrong = 0, spread = 0;
        for (std::size_t at = 0; at < found.out[2].size(); ++at) {
          const std::size_t o = at / how.depth(), tap = at % how.depth() / how.group_in(), c = at % how.group_in();
          const double expected = detail::conv2d_weight_derivative(how, samples, dy, all.in[0].data(), o, tap, c);
          spread += std::isnan(expected) ? 1 : 0;
          wrong += std::isnan(found.out[2][at]) != std::isnan(expected) ||
                           std::abs(static_cast<double>(found.out[2][at]) - expected) > 1e-5
                       ? 1
                       : 0;
        }
        CHECK(wrong == 0);
        CHECK(spread > 0);
        CHECK(spread < found.out[2].size());
      }
}

TEST_CASE("cuda: the weight gradient of no images is 0") {
  const ops::convolution how = square(5, 3, 1, 3, 4);
  testing::operands all = operands_of(how, 1, 0);
  const auto none = [&](auto& q, const auto& g) {
    using T = std::remove_cvref_t<decltype(*g.in[0])>;
    conv2d_weight_gradient(q, how, std::size_t{0}, g.out[2], g.out[3], ops::matrix<const T>(g.in[3], 0, how.out_channels),
                           g.in[0]);
  };
  const auto found = testing::of_gpu<float>(all, none);
  CHECK(std::all_of(found.out[2].begin(), found.out[2].end(), [](float v) { return v == 0; }));
}

TEST_CASE("cuda: more pixels than 32 bits count are refused") {
  const ops::convolution how = square(1024, 3, 1, 3, 4);
  float* const nothing = nullptr;
  CHECK_THROWS_WITH(conv2d_forward(testing::gpu().compute(), how, 1024, ops::matrix<float>(nothing, std::size_t{1} << 30, 4),
                                   nothing, nothing, {}),
                    "cuda, conv2d_forward: expected fewer than 1073741824 input pixels, found 1073741824; give fewer images at a "
                    "time");
}

#if CAIRN_ON_EMULATOR
// Instructions for each multiply-add, and bytes that sectors hold for each byte that is asked for.
TEST_CASE("cuda: what the kernels of convolutions cost a GPU") {
  struct shape {
    ops::convolution how;
    std::size_t samples;
    double most_forward, most_back, most_weight;
  };
  for (const shape& of : {shape{square(16, 3, 1, 16, 16), 2, 1.85, 2, 2.4}, shape{square(16, 3, 1, 32, 32), 1, 1.6, 1.7, 1.95},
                          shape{square(8, 3, 1, 64, 64), 2, 1.5, 1.6, 1.75}, shape{square(16, 3, 2, 32, 64), 2, 1.6, 1.8, 2.1}}) {
    const testing::operands all = operands_of(of.how, of.samples, 0);
    const extents n(of.how, of.samples);
    const double products = static_cast<double>(n.outputs * n.weights);
    for (const int pass : {0, 1, 2}) {
      CAPTURE(of.how.out_channels);
      CAPTURE(pass);
      std::uint64_t instructions = 0;
      emulator::accesses loads;
      std::uint64_t rounds = 0, fewest = 0;
      const auto costs = emulator::costs_of([&] {
        testing::of_gpu<float>(all, [&](auto& q, const auto& g) {
          const ops::matrix<const float> dy(g.in[3], n.outputs, of.how.out_channels);
          float* const none = nullptr;
          if (pass == 0)
            conv2d_forward(q, of.how, of.samples, ops::matrix(g.out[0], n.outputs, of.how.out_channels), g.in[0], g.in[1], {});
          else if (pass == 1) conv2d_input_gradient(q, of.how, of.samples, g.out[1], dy, g.in[1], {});
          else conv2d_weight_gradient(q, of.how, of.samples, g.out[2], none, dy, g.in[0]);
        });
      });
      for (const auto& [name, cost] : costs) {
        instructions += cost.instructions;
        loads.bytes += cost.loads.bytes, loads.sectors += cost.loads.sectors;
        rounds += cost.shared_rounds, fewest += cost.fewest_rounds;
      }
      CHECK(static_cast<double>(instructions) / products <= (pass == 0   ? of.most_forward
                                                             : pass == 1 ? of.most_back
                                                                         : of.most_weight));
      CHECK(static_cast<double>(loads.sectors) * 32 <= 1.01 * static_cast<double>(loads.bytes));
      CHECK(static_cast<double>(rounds) <= 1.2 * static_cast<double>(fewest));
    }
  }
}
#endif

} // namespace ops_cuda_convolutions_tests
