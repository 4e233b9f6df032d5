// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <cairn/ops/activation.hpp>

namespace activation_tests {

using namespace cairn;

static_assert(ops::activated(ops::activation::none, -2.0F) == -2.0F);
static_assert(ops::activated(ops::activation::relu, -2.0) == 0.0);
static_assert(ops::activated(ops::activation::relu, 3.0) == 3.0);

TEST_CASE("activation: ReLU lets NaN through and keeps infinity") {
  CHECK(std::isnan(ops::activated(ops::activation::relu, std::numeric_limits<float>::quiet_NaN())));
  CHECK(ops::activated(ops::activation::relu, std::numeric_limits<float>::infinity()) == std::numeric_limits<float>::infinity());
  CHECK(ops::activated(ops::activation::relu, -std::numeric_limits<float>::infinity()) == 0.0F);
}

} // namespace activation_tests
