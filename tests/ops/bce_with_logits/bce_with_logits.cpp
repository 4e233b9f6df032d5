// SPDX-License-Identifier: MIT
#include <cairn/ops/bce_with_logits/bce_with_logits.hpp>
#include <cairn/ops/bce_with_logits/cpu.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"

namespace bce_with_logits_bce_with_logits_tests {

using namespace cairn;

TEST_CASE_TEMPLATE("bce_with_logits: weights of the targets of 1 go round with the columns", T, float, double) {
  for (const std::size_t columns : {std::size_t{1}, std::size_t{3}, std::size_t{1500}}) {
    const std::size_t count = columns * 37;
    std::vector<T> x(count), t(count), w(columns);
    for (std::size_t i = 0; i < count; ++i) {
      x[i] = static_cast<T>(i * 7919 % 1009) / 100 - 5;
      t[i] = static_cast<T>(i * 104729 % 997) / 997;
    }
    for (std::size_t c = 0; c < columns; ++c) w[c] = static_cast<T>(c % 5) / 2;
    double expected = 0, losses[2] = {};
    for (std::size_t i = 0; i < count; ++i) {
      const double p = 1 / (1 + std::exp(-static_cast<double>(x[i]))), target = static_cast<double>(t[i]);
      expected -= (static_cast<double>(w[i % columns]) * target * std::log(p) + (1 - target) * std::log(1 - p)) /
                  static_cast<double>(count);
    }
    std::vector<T> gradients[2];
    for (const std::size_t threads : {1U, 2U}) {
      cpu device({.threads = threads});
      gradients[threads - 1] = x; // the gradient overwrites the output
      T* const own = gradients[threads - 1].data();
      bce_with_logits(device.compute(), &losses[threads - 1], own, count, static_cast<const T*>(own), t.data(), w.data(),
                      columns);
    }
    CHECK(losses[0] == losses[1]);
    CHECK(gradients[0] == gradients[1]);
    CHECK(losses[0] == doctest::Approx(expected).epsilon(sizeof(T) == 4 ? 1e-5 : 1e-12));
    for (std::size_t i = 0; i < count; ++i) {
      const double p = 1 / (1 + std::exp(-static_cast<double>(x[i]))), target = static_cast<double>(t[i]);
      const double of_one =
          ((1 - target) * p - static_cast<double>(w[i % columns]) * target * (1 - p)) / static_cast<double>(count);
      CHECK(static_cast<double>(gradients[0][i]) == doctest::Approx(of_one).epsilon(sizeof(T) == 4 ? 1e-4 : 1e-11));
    }
  }
}

TEST_CASE("bce_with_logits: bits do not depend on where an element lies") {
  const std::array operands{steps<float>(-30, 30, 203), steps<float>(0, 1, 203), steps<float>(1, 3, 203)};
  CHECK(bits_ignore_cuts<1>(detail::weighted_logit_error{}, operands));
  CHECK(bits_ignore_cuts<1>(detail::weighted_logit_error_derivative<float>{0.1F}, operands));
}

} // namespace bce_with_logits_bce_with_logits_tests
