// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <cairn/ops/cpu.hpp>
#include <cairn/ops/cuda.cuh>
#include <cairn/train/losses/bce_with_logits_loss.hpp>
#include <cairn/train/losses/l1_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/losses/smooth_l1_loss.hpp>

#include "../../cuda/agree.hpp"

namespace ops_cuda_losses_tests {

using namespace cairn;
using testing::normal, testing::over;

namespace {

// SmoothL1Loss with a beta of 0.5, of any element type.
struct half {
  template <class T>
  CAIRN_HOST_DEVICE T operator()(T y, T t) const {
    return detail::smooth_error<T>{T{0.5}}(y, t);
  }
};
struct half_slope {
  template <class T>
  CAIRN_HOST_DEVICE T operator()(T y, T t) const {
    return detail::smooth_error_slope<T>{T{0.5}}(y, t);
  }
};

// Whether a case is left to the other devices: a block has one row of 1003 classes, so 5 rows are several blocks.
constexpr bool too_many(std::size_t elements) { return CAIRN_ON_EMULATOR && elements > 30000; }

} // namespace

TEST_CASE("cuda: losses that are means over elements agree with the cpu's, and so do their gradients") {
  for (const std::size_t count : {0U, 7U, 9001U}) {
    testing::operands all{.in = {normal(count, 1), normal(count, 2)}, .out = {normal(count, 3)}, .doubles = {{-1}}};
    for (double& t : all.in[1]) t = t > 0 ? 1 : 0.25;
    CHECK(over("mean_squared_error", all, [&](auto& q, const auto& g) {
            mean_of_terms(q, g.doubles[0], g.out[0], count, g.in[0], g.in[1], detail::squared_error{},
                          detail::squared_error_slope{});
          }) <= 1);
    CHECK(over("l1", all, [&](auto& q, const auto& g) {
            mean_of_terms(q, g.doubles[0], g.out[0], count, g.in[0], g.in[1], detail::absolute_error{},
                          detail::absolute_error_slope{});
          }) <= 1);
    CHECK(over("smooth_l1", all, [&](auto& q, const auto& g) {
            mean_of_terms(q, g.doubles[0], g.out[0], count, g.in[0], g.in[1], half{}, half_slope{});
          }) <= 1);
    CHECK(over("smooth_l1", all, [&](auto& q, const auto& g) {
            using T = std::remove_cvref_t<decltype(*g.in[0])>;
            mean_of_terms(q, g.doubles[0], g.out[0], count, g.in[0], g.in[1], detail::smooth_error<T>{T{2}},
                          detail::smooth_error_slope<T>{T{2}});
          }) <= 1);
    CHECK(over("bce_with_logits", all, [&](auto& q, const auto& g) {
            mean_of_terms(q, g.doubles[0], g.out[0], count, g.in[0], g.in[1], detail::logit_error{}, detail::logit_error_slope{});
          }) <= 1);
    CHECK(over("bce_with_logits", all, [&](auto& q, const auto& g) { // each element has its own weight
            bce_with_logits(q, g.doubles[0], g.out[0], count, g.in[0], g.in[1], g.in[1], count == 0 ? 1 : count);
          }) <= 1);
    CHECK(over("bce_with_logits", all, [&](auto& q, const auto& g) {
            bce_with_logits(q, g.doubles[0], g.out[0], count, g.in[0], g.in[1], g.in[1], 1);
          }) <= 1);
    all.doubles.push_back({4}); // the scale of the gradient
    CHECK(over("mean_squared_error", all, [&](auto& q, const auto& g) {
            mean_of_terms(q, g.doubles[0], g.out[0], count, g.in[0], g.in[1], detail::squared_error{},
                          detail::squared_error_slope{}, g.doubles[1]);
          }) <= 1);
    CHECK(over("bce_with_logits", all, [&](auto& q, const auto& g) {
            bce_with_logits(q, g.doubles[0], g.out[0], count, g.in[0], g.in[1], g.in[1], 1, g.doubles[1]);
          }) <= 1);
  }
}

TEST_CASE("cuda: softmax cross entropy agrees with the cpu's, for few and many classes, with options and in place") {
  for (const std::size_t classes : {1U, 10U, 300U, 1003U})
    for (const std::size_t rows : {0U, 5U, 70U}) {
      if (too_many(rows * classes)) continue;
      CAPTURE(classes);
      testing::operands all{
          .in = {normal(rows * classes, 1), std::vector<double>(classes)}, .out = {normal(rows * classes, 2)}, .doubles = {{-1}}};
      for (std::size_t c = 0; c < classes; ++c) all.in[1][c] = 0.5 + static_cast<double>(c % 3);
      for (std::size_t row = 0; row < rows; ++row) all.integers.push_back(static_cast<std::int32_t>(row * 7 % classes));
      CHECK(over("softmax_cross_entropy", all, [&](auto& q, const auto& g) {
              softmax_cross_entropy(q, g.doubles[0], g.out[0], ops::matrix(g.in[0], rows, classes), g.integers);
            }) <= 1);
      CHECK(over("softmax_cross_entropy", all, [&](auto& q, const auto& g) { // the gradient overwrites the logits
              const auto* const logits = g.out[0];
              softmax_cross_entropy(q, g.doubles[0], g.out[0], ops::matrix(logits, rows, classes), g.integers);
            }) <= 1);
      CHECK(over("softmax_cross_entropy", all, [&](auto& q, const auto& g) { // nothing is ignored: no kernel counts the rows
              using T = std::remove_cvref_t<decltype(*g.in[0])>;
              const ops::cross_entropy_options<T> options{.ignore_index = std::numeric_limits<std::int64_t>::min(),
                                                          .label_smoothing = 0.1};
              softmax_cross_entropy(q, g.doubles[0], g.out[0], ops::matrix(g.in[0], rows, classes), g.integers, options);
            }) <= 1);
      all.doubles.push_back({4});
      CHECK(over("softmax_cross_entropy", all, [&](auto& q, const auto& g) {
              using T = std::remove_cvref_t<decltype(*g.in[0])>;
              const ops::cross_entropy_options<T> options{.gradient_scale = g.doubles[1]};
              softmax_cross_entropy(q, g.doubles[0], g.out[0], ops::matrix(g.in[0], rows, classes), g.integers, options);
            }) <= 1);
      if (rows > 2) all.integers[2] = -100;
      for (const bool weighted : {false, true})
        CHECK(over("softmax_cross_entropy", all, [&](auto& q, const auto& g) {
                using T = std::remove_cvref_t<decltype(*g.in[0])>;
                const ops::cross_entropy_options<T> options{.label_smoothing = 0.1,
                                                            .class_weights = weighted ? g.in[1] : nullptr};
                softmax_cross_entropy(q, g.doubles[0], g.out[0], ops::matrix(g.in[0], rows, classes), g.integers, options);
              }) <= 1);
    }
}

TEST_CASE("cuda: cross entropy of strips of a batch agrees with the cpu's, with options and where a strip counts no row") {
  constexpr std::size_t rows = 7, classes = 37;
  testing::operands all{
      .in = {normal(rows * classes, 1), std::vector<double>(classes)}, .out = {normal(rows * classes, 2)}, .doubles = {{-1}}};
  for (std::size_t c = 0; c < classes; ++c) all.in[1][c] = 0.5 + static_cast<double>(c % 3);
  all.integers = {3, -100, -100, -100, 36, 0, 12}; // the second strip has none that counts
  for (const bool weighted : {false, true})
    for (const std::size_t most : {1U, 3U, 7U})
      CHECK(over("softmax_cross_entropy", all, [&](auto& q, const auto& g) {
              using T = std::remove_cvref_t<decltype(*g.in[0])>;
              const ops::cross_entropy_options<T> options{.label_smoothing = 0.1, .class_weights = weighted ? g.in[1] : nullptr};
              for (std::size_t first = 0; first < rows; first += most) {
                const std::size_t count = std::min(most, rows - first), at = first * classes;
                softmax_cross_entropy(q, g.doubles[0], g.out[0] + at, ops::matrix(g.in[0] + at, count, classes), g.integers,
                                      options, ops::strip_of_rows{first, rows});
              }
            }) <= 1);
}

TEST_CASE("cuda: soft cross entropy agrees with the cpu's, for few and many classes, with options and in place") {
  for (const std::size_t classes : {1U, 10U, 300U, 1003U})
    for (const std::size_t rows : {0U, 5U, 70U})
      for (const bool weighted : {false, true}) {
        if (too_many(rows * classes)) continue;
        CAPTURE(classes);
        testing::operands all{
            .in = {normal(rows * classes, 1), std::vector<double>(rows * classes), std::vector<double>(classes)},
            .out = {normal(rows * classes, 2)},
            .doubles = {{-1}}};
        for (std::size_t i = 0; i < rows * classes; ++i) all.in[1][i] = static_cast<double>(i % 7) / 8;
        for (std::size_t c = 0; c < classes; ++c) all.in[2][c] = 0.5 + static_cast<double>(c % 3);
        CHECK(over("soft_cross_entropy", all, [&](auto& q, const auto& g) {
                soft_cross_entropy(q, g.doubles[0], g.out[0], ops::matrix(g.in[0], rows, classes), g.in[1],
                                   weighted ? g.in[2] : nullptr, weighted ? 0.125 : 0.0);
              }) <= 1);
        all.doubles.push_back({4}); // the scale of the gradient
        CHECK(over("soft_cross_entropy", all, [&](auto& q, const auto& g) {
                soft_cross_entropy(q, g.doubles[0], g.out[0], ops::matrix(g.in[0], rows, classes), g.in[1],
                                   weighted ? g.in[2] : nullptr, weighted ? 0.125 : 0.0, g.doubles[1]);
              }) <= 1);
        CHECK(over("soft_cross_entropy", all, [&](auto& q, const auto& g) { // the gradient overwrites the logits
                const auto* const logits = g.out[0];
                soft_cross_entropy(q, g.doubles[0], g.out[0], ops::matrix(logits, rows, classes), g.in[1],
                                   weighted ? g.in[2] : nullptr, weighted ? 0.125 : 0.0);
              }) <= 1);
      }
}

TEST_CASE("cuda: a row whose target is no class has no loss and no gradient, and nothing is read by it") {
  const testing::on_gpu<float> logits({1, 2, 3, 4}, 0), gradient({9, 9, 9, 9}, 0);
  const testing::on_gpu<std::int32_t> targets({1, 7}, 0);
  const testing::on_gpu<double> loss({0}, 0);
  softmax_cross_entropy(testing::gpu().compute(), loss.data(), gradient.data(), ops::matrix<const float>(logits.data(), 2, 2),
                        static_cast<const std::int32_t*>(targets.data()));
  CHECK(loss.back()[0] == doctest::Approx(0.313262 / 2).epsilon(1e-5)); // the mean of both rows
  CHECK(gradient.back()[2] == 0);
  CHECK(gradient.back()[0] > 0);
  softmax_cross_entropy(testing::gpu().compute(), loss.data(), gradient.data(), ops::matrix<const float>(logits.data(), 2, 2),
                        static_cast<const std::int32_t*>(targets.data()), {.ignore_index = 7}); // it does not count either
  CHECK(loss.back()[0] == doctest::Approx(0.313262).epsilon(1e-5));
}

} // namespace ops_cuda_losses_tests
