// SPDX-License-Identifier: MIT
#include <cairn/layer/dense/dense_bottleneck.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "../given.hpp"
#include "../positive_variance.hpp"

namespace dense_bottleneck_tests {

using namespace cairn;
using bottleneck = detail::dense_bottleneck<4>;

static_assert(layer<bottleneck> && bottleneck::takes == 2);
static_assert(bottleneck::parameters(given{{5, 3, 7}})[2].extents == shape{4, 1, 1, 7});
static_assert(bottleneck::parameters(given{{5, 3, 7}})[0].name == "norm1.weight");
static_assert(bottleneck::buffers(given{{5, 3, 7}})[1].start.scale == 1);

TEST_CASE("dense_bottleneck: gradients, by statistics too") {
  CHECK(gradient_fault<of_positive_variance<bottleneck>>({{2, 3, 3}, detail::dense_half::statistics_of(3)}) == "");
}

} // namespace dense_bottleneck_tests
