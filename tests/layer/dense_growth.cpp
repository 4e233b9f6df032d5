// SPDX-License-Identifier: MIT
#include <cairn/layer/dense_growth.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "given.hpp"
#include "positive_variance.hpp"

using namespace cairn;
using growth = detail::dense_growth<3>;

static_assert(layer<growth> && growth::strided);
static_assert(growth::parameters(given{{5, 3, 7}})[2].extents == shape{3, 3, 3, 7});
static_assert(growth::buffers(given{{5, 3, 7}})[0].name == "norm2.running_mean");

TEST_CASE("dense_growth: gradients, by statistics too") {
  CHECK(gradient_fault<of_positive_variance<growth>>({{3, 2, 2}, detail::dense_half::statistics_of(2)}) == "");
}
