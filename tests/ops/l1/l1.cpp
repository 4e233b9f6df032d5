// SPDX-License-Identifier: MIT
#include <cairn/ops/l1/cpu.hpp>
#include <cairn/ops/l1/l1.hpp>

#include <cmath>

#include <doctest/doctest.h>

#include "../../reference/pairs_check.hpp"
#include "../elementwise/shifted_cuts.hpp"

namespace l1_l1_tests {

using namespace cairn;

namespace {

constexpr auto op = [](auto&&... given) { l1(given...); };
double term(double y, double t) { return std::fabs(y - t); }

} // namespace

TEST_CASE("l1: PyTorch's numbers, also where output and target are equal") {
  CHECK(pairs_distance_from_torch<float>("l1", op) < 1e-7);
  CHECK(pairs_distance_from_torch<double>("l1", op) < 1e-15);
}

TEST_CASE("l1: the mean on any number of threads, of no elements 0") {
  CHECK(is_mean_of<float>(op, term, 1e-6));
  CHECK(is_mean_of<double>(op, term, 1e-13));
}

TEST_CASE("l1: the mean of a million equal terms") {
  cpu device;
  const std::vector<float> y(std::size_t{1} << 20, 0.1F), t(y.size(), 0.0F);
  double loss = -1;
  float* const unwanted = nullptr;
  l1(device.compute(), &loss, unwanted, y.size(), y.data(), t.data());
  CHECK(loss == doctest::Approx(static_cast<double>(0.1F)).epsilon(1e-12).scale(0));
}

TEST_CASE("l1: NaN stays visible, and bits do not depend on where an element lies") {
  cpu device;
  float y[2] = {NAN, INFINITY};
  const float t[2] = {1, 1};
  double loss = 0;
  l1(device.compute(), &loss, y, 2, static_cast<const float*>(y), t);
  CHECK((std::isnan(loss) && std::isnan(y[0]) && y[1] == 0.5F));
  CHECK(bits_ignore_cuts<1>(detail::absolute_error_derivative<float>{0.1F},
                            std::array{steps<float>(-3, 3, 103), steps<float>(2, -2, 103)}));
}

} // namespace l1_l1_tests
