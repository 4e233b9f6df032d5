// SPDX-License-Identifier: MIT
#include <cairn/ops/soft_cross_entropy/cpu.hpp>
#include <cairn/ops/soft_cross_entropy/soft_cross_entropy.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"

namespace soft_cross_entropy_soft_cross_entropy_tests {

using namespace cairn;

namespace {

struct outcome {
  double loss = 0;
  std::vector<double> gradient;
};

// The formula in double, row by row.
template <class T>
outcome plain(const std::vector<T>& x, const std::vector<accumulated<T>>& t, const std::vector<accumulated<T>>& weights,
              std::size_t classes, double smoothing) {
  const std::size_t rows = x.size() / classes;
  outcome out{0, std::vector<double>(x.size())};
  for (std::size_t row = 0; row < rows; ++row) {
    double most = -INFINITY, sum = 0, all = 0;
    const auto at = [&](std::size_t c) { return static_cast<double>(x[row * classes + c]); };
    const auto amount = [&](std::size_t c) {
      const double own = (1 - smoothing) * static_cast<double>(t[row * classes + c]) + smoothing / static_cast<double>(classes);
      return weights.empty() ? own : own * static_cast<double>(weights[c]);
    };
    for (std::size_t c = 0; c < classes; ++c) most = std::max(most, at(c)), all += amount(c);
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(at(c) - most);
    for (std::size_t c = 0; c < classes; ++c) {
      out.loss -= amount(c) * (at(c) - most - std::log(sum)) / static_cast<double>(rows);
      out.gradient[row * classes + c] = (std::exp(at(c) - most) / sum * all - amount(c)) / static_cast<double>(rows);
    }
  }
  return out;
}

template <class T>
void check(std::size_t rows, std::size_t classes, double tolerance) {
  std::vector<T> x(rows * classes);
  std::vector<accumulated<T>> t(rows * classes), weights;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(static_cast<accumulated<T>>(i * 7919 % 1009) / 60 - 8);
    t[i] = static_cast<accumulated<T>>(i * 104729 % 997) / static_cast<accumulated<T>>(500 * classes);
  }
  for (const double smoothing : {0.0, 0.25}) {
    const outcome expected = plain(x, t, weights, classes, smoothing);
    double losses[3] = {};
    for (const std::size_t threads : {1U, 2U}) {
      cpu device({.threads = threads});
      auto gradient = x; // in place
      const ops::matrix<const T> logits{gradient.data(), rows, classes};
      const auto* const w = weights.empty() ? nullptr : weights.data();
      soft_cross_entropy(device.compute(), &losses[2], static_cast<T*>(nullptr), logits, t.data(), w, smoothing);
      soft_cross_entropy(device.compute(), &losses[threads - 1], gradient.data(), logits, t.data(), w, smoothing);
      double worst = 0;
      for (std::size_t i = 0; i < x.size(); ++i)
        worst = std::max(worst, std::fabs(static_cast<double>(gradient[i]) - expected.gradient[i]));
      CHECK(worst < tolerance);
      CHECK(losses[2] == losses[threads - 1]); // the loss does not depend on whether the gradient is wanted
    }
    CHECK(losses[0] == losses[1]);
    CHECK(losses[0] == doctest::Approx(expected.loss).epsilon(std::max(tolerance, 1e-13)));
    for (std::size_t c = 0; c < classes; ++c) weights.push_back(accumulated<T>{0.5} + static_cast<accumulated<T>>(c % 3));
  }
}

} // namespace

TEST_CASE("soft_cross_entropy: the formula, on any number of threads, the gradient over the logits") {
  for (const std::size_t classes : {1U, 2U, 10U, 16U, 19U, 1024U, 1025U, 2500U}) {
    check<float>(7, classes, 1e-6);
    check<double>(7, classes, 1e-14);
  }
  check<float>(1000, 10, 1e-6);
  check<bfloat16>(7, 19, 1e-3);
  check<bfloat16>(3, 1500, 1e-3);
}

TEST_CASE("soft_cross_entropy: large logits neither overflow nor lose the loss, NaN stays visible, and no rows are no error") {
  cpu device;
  double loss = -1;
  std::vector<float> x{1000, 0, -1000};
  const std::vector<float> t{0, 1, 0};
  soft_cross_entropy(device.compute(), &loss, x.data(), {x.data(), 1, 3}, t.data(), nullptr, 0);
  CHECK(loss == 1000);
  CHECK(x[0] == 1);
  CHECK(x[1] == -1);
  x = {0, std::numeric_limits<float>::quiet_NaN(), 1};
  soft_cross_entropy(device.compute(), &loss, x.data(), {x.data(), 1, 3}, t.data(), nullptr, 0);
  CHECK(std::isnan(loss));
  soft_cross_entropy(device.compute(), &loss, x.data(), {x.data(), 0, 3}, t.data(), nullptr, 0);
  CHECK(loss == 0);
}

} // namespace soft_cross_entropy_soft_cross_entropy_tests
