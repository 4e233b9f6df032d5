// SPDX-License-Identifier: MIT
#include <cairn/core/constant_sqrt.hpp>

#include <cmath>
#include <initializer_list>

#include <doctest/doctest.h>

namespace constant_sqrt_tests {

using namespace cairn;

static_assert(detail::constant_sqrt(784) == 28 && detail::constant_sqrt(1) == 1 && detail::constant_sqrt(0.25) == 0.5);

TEST_CASE("constant_sqrt: the square root") {
  for (const double x : {2.0, 3.0, 27.0, 576.0, 1e6 + 1, 0.1})
    CHECK(detail::constant_sqrt(x) == doctest::Approx(std::sqrt(x)).epsilon(1e-15));
}

} // namespace constant_sqrt_tests
