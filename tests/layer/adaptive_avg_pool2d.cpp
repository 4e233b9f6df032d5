// SPDX-License-Identifier: MIT
#include <cairn/layer/adaptive_avg_pool2d.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "alone.hpp"
#include "given.hpp"
#include "reference_check.hpp"

namespace adaptive_avg_pool2d_tests {

using namespace cairn;

static_assert(layer<AdaptiveAvgPool2d<1>>);
static_assert(AdaptiveAvgPool2d<3, 2>::outputs(given{{7, 5, 3}}) == tensor{3, 2, 3});
static_assert(AdaptiveAvgPool2d<4>::outputs(given{{1, 1, 3}}) == tensor{4, 4, 3}); // parts overlap
static_assert(AdaptiveAvgPool2d<1>::accepts(given{{7, 5, 3}}) && !AdaptiveAvgPool2d<1>::accepts(given{{7, 5}}));
static_assert(AdaptiveAvgPool2d<1>::flops(given{{7, 5, 3}}).forward == 105 + 3);

TEST_CASE("AdaptiveAvgPool2d: gradients") {
  CHECK(gradient_fault<AdaptiveAvgPool2d<1>>({{3, 4, 2}}) == "");
  CHECK(gradient_fault<AdaptiveAvgPool2d<2, 3>>({{3, 2, 2}}) == "");
}

TEST_CASE_TEMPLATE("AdaptiveAvgPool2d: PyTorch's numbers", T, float, double) {
  const double most = sizeof(T) == 4 ? 1e-6 : 1e-14;
  CHECK(distance_from_torch<AdaptiveAvgPool2d<1>, T>("adaptive_avg_pool2d", {4, 5, 3}) < most);
  CHECK(distance_from_torch<AdaptiveAvgPool2d<3, 2>, T>("adaptive_avg_pool2d_3x2", {7, 5, 3}) < most);
  CHECK(distance_from_torch<AdaptiveAvgPool2d<5, 4>, T>("adaptive_avg_pool2d_more", {3, 6, 2}) < most);
}

} // namespace adaptive_avg_pool2d_tests
