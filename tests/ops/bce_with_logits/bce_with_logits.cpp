// SPDX-License-Identifier: MIT
#include <cairn/ops/bce_with_logits/bce_with_logits.hpp>
#include <cairn/ops/bce_with_logits/cpu.hpp>

#include <cmath>

#include <doctest/doctest.h>

#include "../../reference/pairs_check.hpp"
#include "../elementwise/shifted_cuts.hpp"

namespace bce_with_logits_bce_with_logits_tests {

using namespace cairn;

namespace {

constexpr auto op = [](auto&&... given) { bce_with_logits(given...); };
double term(double x, double t) {
  const double p = 1 / (1 + std::exp(-x));
  return -t * std::log(p) - (1 - t) * std::log(1 - p);
}

} // namespace

TEST_CASE("bce_with_logits: PyTorch's numbers") {
  CHECK(pairs_distance_from_torch<float>("bce_with_logits", op) < 3e-7);
  CHECK(pairs_distance_from_torch<double>("bce_with_logits", op) < 1e-15);
}

TEST_CASE("bce_with_logits: the mean on any number of threads, of no elements 0") {
  CHECK(is_mean_of<float>(op, term, 1e-6));
  CHECK(is_mean_of<double>(op, term, 1e-12));
}

TEST_CASE("bce_with_logits: large logits neither overflow nor lose the loss, and NaN stays visible") {
  cpu device;
  float x[4] = {1000, -1000, 1000, -30};
  const float t[4] = {1, 0, 0, 0};
  double loss = 0;
  bce_with_logits(device.compute(), &loss, x, 4, static_cast<const float*>(x), t);
  CHECK(loss == doctest::Approx((1000 + std::exp(-30.0)) / 4).epsilon(1e-7));
  CHECK((x[0] == 0 && x[1] == 0 && x[2] == 0.25F && x[3] > 0 && x[3] < 1e-13F));
  float* const unwanted = nullptr;
  const float small = -30;
  bce_with_logits(device.compute(), &loss, unwanted, 1, &small, t + 1);
  CHECK(loss == doctest::Approx(std::exp(-30.0)).epsilon(1e-6));
  const float nan = NAN;
  bce_with_logits(device.compute(), &loss, x, 1, &nan, t);
  CHECK((std::isnan(loss) && std::isnan(x[0])));
}

TEST_CASE("bce_with_logits: bits do not depend on where an element lies") {
  const std::array operands{steps<float>(-30, 30, 203), steps<float>(0, 1, 203)};
  CHECK(bits_ignore_cuts<1>(detail::logit_error{}, operands));
  CHECK(bits_ignore_cuts<1>(detail::logit_error_derivative<float>{0.1F}, operands));
}

} // namespace bce_with_logits_bce_with_logits_tests
