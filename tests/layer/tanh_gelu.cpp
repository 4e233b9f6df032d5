// SPDX-License-Identifier: MIT
#include <cairn/layer/tanh_gelu.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "reference_check.hpp"

namespace tanh_gelu_tests {

using namespace cairn;

static_assert(layer<TanhGELU>);
static_assert(TanhGELU::in_place && TanhGELU::backward_reads == reads::input);

TEST_CASE("TanhGELU: gradients") {
  CHECK(gradient_fault<TanhGELU>({{3}}) == "");
  CHECK(gradient_fault<TanhGELU>({{2, 3, 2}}) == "");
  CHECK(gradient_fault<TanhGELU>({{19}}) == ""); // more than one block of a kernel
}

TEST_CASE("TanhGELU: PyTorch's numbers") {
  CHECK(distance_from_torch<TanhGELU, double>("tanh_gelu", {9}) < 1e-12);
  CHECK(distance_from_torch<TanhGELU, float>("tanh_gelu", {9}) < 1e-6);
}

// Where x^2 or x^3 is infinite, y is x or 0 and the derivative 1 or 0.
TEST_CASE_TEMPLATE("TanhGELU: large numbers, whose powers are infinite", T, float, double) {
  const detail::tanh_gelu_value value;
  const detail::tanh_gelu_slope slope;
  for (const T x : {T{101}, T(1e13), T(1e25)}) {
    CHECK((value(x) == x && value(-x) == 0));
    CHECK((slope(T{3}, x) == 3 && slope(T{3}, -x) == 0));
  }
}

} // namespace tanh_gelu_tests
