// SPDX-License-Identifier: MIT
#include <cairn/layer/leaky_relu.hpp>

#include <cmath>
#include <limits>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "reference_check.hpp"

namespace leaky_relu_tests {

using namespace cairn;

static_assert(layer<LeakyReLU<>> && LeakyReLU<>::in_place);
static_assert(LeakyReLU<>::backward_reads == reads::output && LeakyReLU<fraction{0}>::backward_reads == reads::output);
static_assert(LeakyReLU<fraction{-1, 2}>::backward_reads == reads::input);

TEST_CASE("LeakyReLU: gradients, with slopes of both signs") {
  CHECK(gradient_fault<LeakyReLU<>>({{3}}) == "");
  CHECK(gradient_fault<LeakyReLU<percent<25>>>({{2, 3, 2}}) == "");
  CHECK(gradient_fault<LeakyReLU<fraction{-1, 2}>>({{2, 3, 2}}) == "");
  CHECK(gradient_fault<LeakyReLU<>>({{19}}) == ""); // more than one block of a kernel
}

TEST_CASE_TEMPLATE("LeakyReLU: PyTorch's numbers", T, float, double) {
  constexpr double most = sizeof(T) == sizeof(float) ? 2e-7 : 1e-15;
  CHECK(distance_from_torch<LeakyReLU<>, T>("leaky_relu", {9}) < most);
  CHECK(distance_from_torch<LeakyReLU<percent<25>>, T>("leaky_relu_slope", {9}) < most);
  CHECK(distance_from_torch<LeakyReLU<fraction{-1, 2}>, T>("leaky_relu_negative", {9}) < most);
}

// As in torch: at 0 the derivative is the slope, and NaN goes both ways.
TEST_CASE_TEMPLATE("LeakyReLU: zero, infinity and NaN", T, float, double) {
  const detail::leaky_relu_value<percent<25>> value;
  const detail::leaky_relu_slope<percent<25>> slope;
  constexpr T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  CHECK((value(T{0}) == 0 && value(infinity) == infinity && value(-infinity) == -infinity && std::isnan(value(nan))));
  CHECK(
      (slope(T{2}, T{0}) == T(0.5) && slope(T{2}, infinity) == 2 && slope(T{2}, nan) == T(0.5) && std::isnan(slope(nan, T{-1}))));
}

} // namespace leaky_relu_tests
