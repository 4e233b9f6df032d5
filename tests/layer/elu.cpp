// SPDX-License-Identifier: MIT
#include <cairn/layer/elu.hpp>

#include <cmath>
#include <limits>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "reference_check.hpp"

namespace elu_tests {

using namespace cairn;

static_assert(layer<ELU<>> && ELU<>::in_place && ELU<>::backward_reads == reads::output);
static_assert(!ELU<fraction{-1}>::options_are_right && ELU<fraction{0}>::options_are_right);

TEST_CASE("ELU: gradients") {
  CHECK(gradient_fault<ELU<>>({{3}}) == "");
  CHECK(gradient_fault<ELU<fraction{3, 4}>>({{2, 3, 2}}) == "");
  CHECK(gradient_fault<ELU<>>({{19}}) == ""); // more than one block of a kernel
}

TEST_CASE("ELU: PyTorch's numbers") {
  CHECK(distance_from_torch<ELU<>, double>("elu", {9}) < 1e-12);
  CHECK(distance_from_torch<ELU<>, float>("elu", {9}) < 1e-6);
  CHECK(distance_from_torch<ELU<fraction{3, 4}>, double>("elu_alpha", {9}) < 1e-12);
  CHECK(distance_from_torch<ELU<fraction{3, 4}>, float>("elu_alpha", {9}) < 1e-6);
}

TEST_CASE_TEMPLATE("ELU: zero, infinity and NaN", T, float, double) {
  const detail::elu_value<fraction{1, 2}> value;
  const detail::elu_slope<fraction{1, 2}> slope;
  constexpr T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  CHECK((value(T{0}) == 0 && value(infinity) == infinity && value(-infinity) == T(-0.5) && std::isnan(value(nan))));
  CHECK((slope(T{2}, T{0}) == 1 && slope(T{2}, infinity) == 2 && slope(T{2}, T(-0.5)) == 0 && slope(T{2}, nan) == 2));
}

} // namespace elu_tests
