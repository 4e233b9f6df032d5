// SPDX-License-Identifier: MIT
#include <cairn/ops/smooth_l1/cpu.hpp>
#include <cairn/ops/smooth_l1/smooth_l1.hpp>

#include <cmath>

#include <doctest/doctest.h>

#include "../../reference/pairs_check.hpp"
#include "../elementwise/shifted_cuts.hpp"

namespace smooth_l1_smooth_l1_tests {

using namespace cairn;

namespace {

template <int Percent>
constexpr auto op = [](auto&&... given) { smooth_l1(given..., Percent / 100.0); };
double term(double y, double t) {
  const double d = std::fabs(y - t);
  return d < 0.25 ? d * d / 0.5 : d - 0.125;
}

} // namespace

TEST_CASE("smooth_l1: PyTorch's numbers, for any beta") {
  CHECK(pairs_distance_from_torch<float>("smooth_l1", op<100>) < 2e-7);
  CHECK(pairs_distance_from_torch<double>("smooth_l1", op<100>) < 1e-15);
  CHECK(pairs_distance_from_torch<float>("smooth_l1_beta", op<25>) < 2e-7);
  CHECK(pairs_distance_from_torch<double>("smooth_l1_beta", op<25>) < 1e-15);
  CHECK(pairs_distance_from_torch<double>("smooth_l1_beta_0", op<0>) < 1e-15);
}

TEST_CASE("smooth_l1: the mean on any number of threads, of no elements 0") {
  CHECK(is_mean_of<float>(op<25>, term, 1e-6));
  CHECK(is_mean_of<double>(op<25>, term, 1e-13));
}

TEST_CASE("smooth_l1: NaN stays visible, and bits do not depend on where an element lies") {
  cpu device;
  float y[2] = {NAN, -INFINITY};
  const float t[2] = {1, 1};
  double loss = 0;
  smooth_l1(device.compute(), &loss, y, 2, static_cast<const float*>(y), t, 1.0);
  CHECK((std::isnan(loss) && std::isnan(y[0]) && y[1] == -0.5F));
  const std::array operands{steps<float>(-3, 3, 103), steps<float>(2, -2, 103)};
  CHECK(bits_ignore_cuts<1>(detail::smooth_error<float>{0.5F}, operands));
  CHECK(bits_ignore_cuts<1>(detail::smooth_error_derivative<float>{0.5F, 0.1F}, operands));
}

} // namespace smooth_l1_smooth_l1_tests
