// SPDX-License-Identifier: MIT
#include <cmath>
#include <type_traits>
#include <vector>

#include <cairn/ops/cpu.hpp>
#include <cairn/ops/cuda.cuh>

#include "../../cuda/agree.hpp"

namespace ops_cuda_norms_tests {

using namespace cairn;
using testing::normal, testing::over;

namespace {

// Columns far from 0: a sum of squares would lose all digits of their variance.
std::vector<double> far_out(std::size_t rows, std::size_t columns, std::uint32_t which) {
  auto numbers = normal(rows * columns, which);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += 100 + static_cast<double>(i % columns);
  return numbers;
}

} // namespace

TEST_CASE("cuda: LayerNorm agrees with the cpu's") {
  for (const std::size_t features : {1U, 37U, 40U, 700U})
    for (const std::size_t rows : {1U, 37U}) {
      CAPTURE(features);
      const std::size_t size = rows * features;
      const testing::operands all{.in = {normal(size, 1), normal(features, 2), normal(features, 3), normal(size, 4)},
                                  .out = {normal(size, 5), normal(2 * rows, 6), normal(features, 7), normal(features, 8)}};
      CHECK(over("layer_norm", all, [&](auto& q, const auto& g) {
              layer_norm_forward(q, rows, features, 1e-3, g.out[0], g.out[1], g.in[0], g.in[1], g.in[2]);
            }) <= 1);
      const auto backward = [&](bool alone) {
        return over("layer_norm's parameters", all, [&](auto& q, const auto& g) {
          auto* const first = g.in[0]; // any numbers will do as statistics
          layer_norm_backward(q, 1, features, alone ? nullptr : g.out[0], g.out[2], g.out[3], g.in[3], first, first, g.in[1]);
          if (!alone) { // the input gradient overwrites the output gradient
            const auto* const dy = g.out[0];
            layer_norm_backward(q, 1, features, g.out[0], g.out[2], g.out[3], dy, first, g.in[1], g.in[1]);
          }
        });
      };
      if (features > 1) {
        CHECK(backward(true) <= 1);
        CHECK(backward(false) <= 1);
      }
    }
}

TEST_CASE("cuda: LayerNorm's gradient over many rows agrees with the cpu's") {
  constexpr std::size_t rows = 2000, features = 33, size = rows * features;
  const testing::operands all{.in = {normal(size, 1), normal(features, 2), normal(size, 3), normal(features, 4)},
                              .out = {normal(size, 5), normal(2 * rows, 6), normal(features, 7), normal(features, 8)}};
  CHECK(over("layer_norm's parameters", all, [&](auto& q, const auto& g) {
          layer_norm_forward(q, rows, features, 1e-5, g.out[0], g.out[1], g.in[0], g.in[1], g.in[3]);
          layer_norm_backward(q, rows, features, g.out[0], g.out[2], g.out[3], g.in[2], g.in[0],
                              static_cast<decltype(g.in[0])>(g.out[1]), g.in[1]);
        }) <= 1);
}

TEST_CASE("cuda: RMSNorm agrees with the cpu's, of many rows as well") {
  for (const auto& shape :
       {std::pair{1U, 1U}, {37U, 1U}, {1U, 37U}, {37U, 37U}, {37U, 40U}, {1U, 700U}, {37U, 700U}, {2000U, 33U}}) {
    const auto rows = shape.first, features = shape.second;
    CAPTURE(rows);
    CAPTURE(features);
    const std::size_t n = rows, m = features, size = n * m;
    const testing::operands all{.in = {normal(size, 1), normal(m, 2), normal(size, 4)},
                                .out = {normal(size, 5), normal(n, 6), normal(m, 7), normal(size, 8)}};
    CHECK(over("rms_norm", all,
               [&](auto& q, const auto& g) { rms_norm_forward(q, n, m, 1e-3, g.out[0], g.out[1], g.in[0], g.in[1]); }) <= 1);
    CHECK(over("rms_norm's parameters", all, [&](auto& q, const auto& g) {
            const auto* const inverses = g.in[2]; // any numbers will do
            rms_norm_backward(q, n, m, g.out[0], g.out[2], g.in[2], g.in[0], inverses, g.in[1]);
            const auto* const dy = g.out[3]; // overwritten by the input gradient
            const std::remove_cvref_t<decltype(g.out[0])> unwanted = nullptr;
            rms_norm_backward(q, n, m, g.out[3], unwanted, dy, g.in[0], inverses, g.in[1]);
          }) <= 1);
  }
}

TEST_CASE("cuda: Standardize agrees with the cpu's, and of floats bit for bit, also in place") {
  for (const auto& shape : {std::pair{1U, 1U}, {37U, 1U}, {37U, 37U}, {37U, 40U}, {5U, 700U}, {3000U, 8U}, {5000U, 3U}}) {
    const auto rows = shape.first, features = shape.second;
    CAPTURE(rows);
    CAPTURE(features);
    const std::size_t n = rows, m = features, size = n * m;
    testing::operands all{.in = {normal(size, 1), normal(m, 2), normal(m, 3)}, .out = {normal(size, 4), normal(size, 5)}};
    for (double& deviation : all.in[2]) deviation = 0.5 + std::abs(deviation);
    CHECK(over("standardize", all, [&](auto& q, const auto& g) {
            standardize(q, n, m, g.out[0], g.in[0], g.in[1], g.in[2]);
            const auto* const dy = g.out[1]; // overwritten by the input gradient
            standardize_backward(q, n, m, g.out[1], dy, g.in[2]);
          }) <= 1);

    const std::vector<float> x(all.in[0].begin(), all.in[0].end()), mean(all.in[1].begin(), all.in[1].end()),
        deviation(all.in[2].begin(), all.in[2].end());
    std::vector<float> y(size);
    const testing::on_gpu<float> gx(x, 0), gmean(mean, 0), gdeviation(deviation, 0);
    cpu processor;
    standardize(processor.compute(), n, m, y.data(), x.data(), mean.data(), deviation.data());
    standardize(testing::gpu().compute(), n, m, gx.data(), static_cast<const float*>(gx.data()),
                static_cast<const float*>(gmean.data()), static_cast<const float*>(gdeviation.data()));
    CHECK(gx.back() == y);
  }
}

TEST_CASE("cuda: Softmax agrees with the cpu's, also in place") {
  for (const auto& shape : {std::pair{3U, 1U}, {37U, 37U}, {37U, 40U}, {5U, 700U}, {2U, 5000U}}) {
    const auto rows = shape.first, columns = shape.second;
    CAPTURE(columns);
    const std::size_t n = rows, m = columns, size = n * m;
    const testing::operands all{.in = {normal(size, 1), normal(size, 2)},
                                .out = {normal(size, 4), normal(size, 5), normal(size, 6), normal(size, 7)}};
    CHECK(over("softmax", all, [&](auto& q, const auto& g) {
            softmax_forward(q, n, m, g.out[0], g.in[0]);
            const auto *const y = g.out[0], *const x = g.out[1], *const dy = g.out[3];
            softmax_forward(q, n, m, g.out[1], x);
            softmax_backward(q, n, m, g.out[2], g.in[1], y);
            softmax_backward(q, n, m, g.out[3], dy, y);
          }) <= 1);
  }
}

TEST_CASE("cuda: BatchNorm agrees with the cpu's, whole and in parts, far from 0 as well") {
  for (const std::size_t features : {5U, 8U})
    for (const std::size_t rows : {0U, 1U, 50U, 3000U}) {
      CAPTURE(rows);
      const std::size_t size = rows * features;
      const testing::operands all{.in = {far_out(rows, features, 1), normal(features, 2), normal(features, 3), normal(size, 4)},
                                  .out = {normal(size, 5), std::vector<double>(2 * features, 1.0), normal(features, 6),
                                          normal(features, 7), normal(size, 8), normal(features, 9), normal(features, 10)},
                                  .doubles = {std::vector<double>(2 * features + 1), std::vector<double>(2 * features + 1)}};
      const auto whole = [&](auto& q, const auto& g) {
        using read = decltype(g.in[0]);
        const read statistics = g.out[1];
        batch_norm_forward(q, rows, features, 1e-3, g.out[0], g.out[1], g.in[0], g.in[1], g.in[2]);
        batch_norm_update(q, rows, features, 0.1, g.out[2], g.out[3], statistics);
        batch_norm_backward(q, rows, features, 1e-3, g.out[4], g.out[5], g.out[6], g.in[3], g.in[0], statistics, g.in[1]);
      };
      CHECK(over("batch_norm far from 0", all, whole) <= 1);
      auto near = all;
      near.in[0] = normal(size, 1);
      CHECK(over("batch_norm", near, whole) <= 1);
      CHECK(over("batch_norm", near, [&](auto& q, const auto& g) { // a ReLU after it, and one before it
              using read = decltype(g.in[0]);
              using T = std::remove_cvref_t<decltype(*g.in[0])>;
              const read statistics = g.out[1];
              constexpr auto relu = ops::activation::relu;
              const ops::running_statistics<T> moved{0.1, g.out[2], g.out[3]};
              batch_norm_forward(q, rows, features, 1e-3, g.out[0], g.out[1], g.in[0], g.in[1], g.in[2], relu, moved);
              batch_norm_backward(q, rows, features, 1e-3, g.out[4], g.out[5], g.out[6], g.in[3], g.in[0], statistics, g.in[1],
                                  relu);
            }) <= 1);
      if (rows == 3000) { // one row far from the others costs them no digits
        for (std::size_t j = 0; j < features; ++j) near.in[0][j] += 1000;
        CHECK(testing::apart<float>(near, whole) < 2e-5);
      }
      CHECK(over("batch_norm in parts far from 0", all, [&](auto& q, const auto& g) {
              using read = decltype(g.in[0]);
              const read statistics = g.out[1];
              const double *const sums = g.doubles[0], *const gradient_sums = g.doubles[1];
              batch_norm_sums(q, rows, features, g.doubles[0], g.in[0]);
              batch_norm_statistics(q, features, g.out[1], sums);
              batch_norm_update(q, features, 0.1, g.out[2], g.out[3], statistics, sums + 2 * features);
              batch_norm_evaluate(q, rows, features, 1e-3, g.out[0], g.in[0], statistics, statistics + features, g.in[1],
                                  g.in[2]);
              batch_norm_gradient_sums(q, rows, features, 1e-3, g.doubles[1], g.out[5], g.out[6], g.in[3], g.in[0], statistics);
              copy(q, 1, g.doubles[1] + 2 * features, sums + 2 * features);
              batch_norm_input_gradient(q, rows, features, 1e-3, g.out[4], g.in[3], g.in[0], statistics, g.in[1], gradient_sums);
            }) <= 1);
    }
}

TEST_CASE("cuda: GroupNorm agrees with the cpu's") {
  for (const ops::channel_groups of :
       {ops::channel_groups{3, 4, 6, 2}, ops::channel_groups{2, 70, 8, 1}, ops::channel_groups{2, 9, 24, 3}}) {
    const std::size_t size = of.samples * of.pixels * of.channels;
    const testing::operands all{.in = {far_out(size / 6, 6, 1), normal(of.channels, 2), normal(of.channels, 3), normal(size, 4)},
                                .out = {normal(size, 5), normal(2 * of.samples * of.groups, 6), normal(size, 7),
                                        normal(of.channels, 8), normal(of.channels, 9)}};
    auto near = all;
    near.in[0] = normal(size, 1);
    CHECK(over("group_norm", near, [&](auto& q, const auto& g) {
            group_norm_forward(q, of, 1e-3, g.out[0], g.out[1], g.in[0], g.in[1], g.in[2]);
            group_norm_backward(q, of, g.out[2], g.out[3], g.out[4], g.in[3], g.in[0], static_cast<decltype(g.in[0])>(g.out[1]),
                                g.in[1]);
          }) <= 1);
  }
}

TEST_CASE("cuda: Embedding's gradient adds up places in their order, of more words and places than are sorted at once") {
  for (const auto& size : {std::pair{1000U, 3000U}, {3U, 2500U}, {70000U, 3000U}, {1000U, 600000U}}) {
    const std::size_t vocabulary = size.first, count = size.second;
    if (CAIRN_ON_EMULATOR && count + vocabulary > 10000) continue; // it would take minutes
    testing::operands all{.in = {normal(count, 2)}, .out = {normal(vocabulary, 4)}};
    for (std::uint32_t i = 0; i < count; ++i)
      all.integers.push_back(static_cast<std::int32_t>(ops::random_bits({.seed = 1}, i) % (i % 3 == 0 ? 2 : vocabulary)));
    const auto op = [&](auto& q, const auto& g) { embedding_backward(q, count, vocabulary, 1, g.out[0], g.in[0], g.integers); };
    CHECK(testing::apart<float>(all, op) < 1e-4); // sums of 100 000 elements
    CHECK(testing::apart<double>(all, op) < 1e-12);
  }
}

TEST_CASE("cuda: Embedding agrees with the cpu's, and an index that is none is seen") {
  struct extents {
    std::size_t vocabulary, width, count;
  };
  for (const extents& size : {extents{11, 300, 40}, {300, 1028, 100}}) { // a row by 32 threads, and by 256 that do not divide it
    const std::size_t vocabulary = size.vocabulary, width = size.width, count = size.count;
    testing::operands all{.in = {normal(vocabulary * width, 1), normal(count * width, 2)},
                          .out = {normal(count * width, 3), normal(vocabulary * width, 4)}};
    for (std::size_t i = 0; i < count; ++i) all.integers.push_back(static_cast<std::int32_t>(i * i % 11));
    CHECK(over("embedding", all, [&](auto& q, const auto& g) {
            embedding_forward(q, count, vocabulary, width, g.out[0], g.in[0], g.integers);
            embedding_backward(q, count, vocabulary, width, g.out[1], g.in[1], g.integers);
          }) <= 1);
    CHECK(over("embedding", all, [&](auto& q, const auto& g) { // without indices all gradients are 0
            embedding_backward(q, 0, vocabulary, width, g.out[1], g.in[1], g.integers);
          }) <= 1);
  }

  const testing::on_gpu<float> weight({1, 2, 3, 4}, 0), output({0, 0, 0, 0}, 0);
  const testing::on_gpu<std::int32_t> indices({-1, 1}, 0);
  embedding_forward(testing::gpu().compute(), 2, 2, 2, output.data(), static_cast<const float*>(weight.data()),
                    static_cast<const std::int32_t*>(indices.data()));
  CHECK(std::isnan(output.back()[0]));
  CHECK(output.back()[2] == 3);
}

} // namespace ops_cuda_norms_tests
