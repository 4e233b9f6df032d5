// SPDX-License-Identifier: MIT
#include <cairn/ops/mean_of_terms/cpu.hpp>
#include <cairn/ops/mean_of_terms/mean_of_terms.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <cairn/ops/cpu.hpp>
#include <cairn/train/losses/bce_with_logits_loss.hpp>
#include <cairn/train/losses/l1_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/losses/smooth_l1_loss.hpp>
#include <doctest/doctest.h>

#include "../../reference/pairs_check.hpp"
#include "../elementwise/shifted_cuts.hpp"

namespace mean_of_terms_mean_of_terms_tests {

using namespace cairn;

namespace {

// A loss as an op: (queue, loss, output gradient, count, output, targets).
template <class Loss>
auto op_of(const Loss& loss) {
  return [loss]<class T>(cpu::queue& queue, double* value, T* gradient, std::size_t count, const T* output, const T* targets) {
    const shape one{1};
    loss_call<T, T> call;
    call.rows = count;
    call.output_shape = &one;
    call.loss = value, call.output_gradient = gradient;
    call.output = output, call.targets = targets;
    loss.run(queue, call);
  };
}
const auto mse = op_of(MSELoss{});
const auto l1 = op_of(L1Loss{});
const auto bce = op_of(BCEWithLogitsLoss{});
auto smooth(double beta) { return op_of(SmoothL1Loss{.beta = beta}); }

double squared(double y, double t) { return (y - t) * (y - t); }
double absolute(double y, double t) { return std::fabs(y - t); }
double smooth_quarter(double y, double t) {
  const double d = std::fabs(y - t);
  return d < 0.25 ? d * d / 0.5 : d - 0.125;
}
double of_logits(double x, double t) {
  const double p = 1 / (1 + std::exp(-x));
  return -t * std::log(p) - (1 - t) * std::log(1 - p);
}

} // namespace

TEST_CASE("mean_of_terms: PyTorch's numbers") {
  CHECK(pairs_distance_from_torch<float>("l1", l1) < 1e-7); // includes equal outputs and targets
  CHECK(pairs_distance_from_torch<double>("l1", l1) < 1e-15);
  CHECK(pairs_distance_from_torch<float>("smooth_l1", smooth(1)) < 2e-7);
  CHECK(pairs_distance_from_torch<double>("smooth_l1", smooth(1)) < 1e-15);
  CHECK(pairs_distance_from_torch<float>("smooth_l1_beta", smooth(0.25)) < 2e-7);
  CHECK(pairs_distance_from_torch<double>("smooth_l1_beta", smooth(0.25)) < 1e-15);
  CHECK(pairs_distance_from_torch<double>("smooth_l1_beta_0", smooth(0)) < 1e-15);
  CHECK(pairs_distance_from_torch<float>("bce_with_logits", bce) < 3e-7);
  CHECK(pairs_distance_from_torch<double>("bce_with_logits", bce) < 1e-15);
}

TEST_CASE("mean_of_terms: the mean on any number of threads, of no elements 0") {
  CHECK(is_mean_of<float>(mse, squared, 1e-6));
  CHECK(is_mean_of<double>(mse, squared, 1e-12));
  CHECK(is_mean_of<float>(l1, absolute, 1e-6));
  CHECK(is_mean_of<double>(l1, absolute, 1e-13));
  CHECK(is_mean_of<float>(smooth(0.25), smooth_quarter, 1e-6));
  CHECK(is_mean_of<double>(smooth(0.25), smooth_quarter, 1e-13));
  CHECK(is_mean_of<float>(bce, of_logits, 1e-6));
  CHECK(is_mean_of<double>(bce, of_logits, 1e-12));
}

TEST_CASE("mean_of_terms: MSELoss, loss and gradient, on any number of threads, also over the output") {
  for (const std::size_t count : {1U, 5U, 100U, 30000U}) {
    const auto y = steps<float>(-1, 2, count + 1), t = steps<float>(1, 0, count + 1);
    double expected = 0, losses[2] = {};
    for (std::size_t i = 0; i < count; ++i) {
      const double difference = static_cast<double>(y[i]) - static_cast<double>(t[i]);
      expected += difference * difference / static_cast<double>(count);
    }
    for (const std::size_t threads : {1U, 2U}) {
      cpu device({.threads = threads});
      auto gradient = y;
      mse(device.compute(), &losses[threads - 1], gradient.data(), count, static_cast<const float*>(gradient.data()), t.data());
      for (std::size_t i = 0; i < count; ++i)
        if (gradient[i] != static_cast<float>(2.0 / static_cast<double>(count)) * (y[i] - t[i])) FAIL(i);
    }
    CHECK(losses[0] == losses[1]);
    CHECK(losses[0] == doctest::Approx(expected).epsilon(1e-6));
  }
}

TEST_CASE("mean_of_terms: the mean of a million equal terms") {
  cpu device;
  const std::vector<float> y(std::size_t{1} << 20, 0.1F), t(y.size(), 0.0F);
  double loss = -1;
  float* const unwanted = nullptr;
  mse(device.compute(), &loss, unwanted, y.size(), y.data(), t.data());
  CHECK(loss == doctest::Approx(static_cast<double>(0.1F) * static_cast<double>(0.1F)).epsilon(1e-12).scale(0));
  l1(device.compute(), &loss, unwanted, y.size(), y.data(), t.data());
  CHECK(loss == doctest::Approx(static_cast<double>(0.1F)).epsilon(1e-12).scale(0));
}

TEST_CASE("mean_of_terms: the loss alone, and no rows") {
  cpu device;
  const std::vector<double> y{1, 2}, t{0, 4};
  double loss = -1;
  double* const unwanted = nullptr;
  mse(device.compute(), &loss, unwanted, 2, y.data(), t.data());
  CHECK(loss == 2.5);
  mse(device.compute(), &loss, unwanted, 0, y.data(), t.data());
  CHECK(loss == 0);
}

TEST_CASE("mean_of_terms: NaN stays visible") {
  cpu device;
  const auto check = [&](const auto& op, float infinite, float slope) {
    float y[2] = {NAN, infinite};
    const float t[2] = {1, 1};
    double loss = 0;
    op(device.compute(), &loss, y, 2, static_cast<const float*>(y), t);
    CHECK((std::isnan(loss) && std::isnan(y[0]) && y[1] == slope));
  };
  check(l1, INFINITY, 0.5F);
  check(smooth(1), -INFINITY, -0.5F);
}

TEST_CASE("mean_of_terms: large logits neither overflow nor lose the loss, and NaN stays visible") {
  cpu device;
  float x[4] = {1000, -1000, 1000, -30};
  const float t[4] = {1, 0, 0, 0};
  double loss = 0;
  bce(device.compute(), &loss, x, 4, static_cast<const float*>(x), t);
  CHECK(loss == doctest::Approx((1000 + std::exp(-30.0)) / 4).epsilon(1e-7));
  CHECK((x[0] == 0 && x[1] == 0 && x[2] == 0.25F && x[3] > 0 && x[3] < 1e-13F));
  float* const unwanted = nullptr;
  const float small = -30;
  bce(device.compute(), &loss, unwanted, 1, &small, t + 1);
  CHECK(loss == doctest::Approx(std::exp(-30.0)).epsilon(1e-6));
  const float nan = NAN;
  bce(device.compute(), &loss, x, 1, &nan, t);
  CHECK((std::isnan(loss) && std::isnan(x[0])));
}

TEST_CASE("mean_of_terms: bits do not depend on where an element lies") {
  const std::array operands{steps<float>(-3, 3, 103), steps<float>(2, -2, 103)};
  CHECK(bits_ignore_cuts<1>(detail::over_count<float>(detail::absolute_error_slope{}, 10), operands));
  CHECK(bits_ignore_cuts<1>(detail::leaves_result<detail::smooth_error<float>>{{0.5F}}, operands));
  CHECK(bits_ignore_cuts<1>(detail::over_count<float>(detail::smooth_error_slope<float>{0.5F}, 10), operands));
  CHECK(bits_ignore_cuts<1>(detail::leaves_result<detail::logit_error>{}, operands));
}

} // namespace mean_of_terms_mean_of_terms_tests
