// SPDX-License-Identifier: MIT
#include <cairn/layer/avg_pool2d.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "alone.hpp"
#include "given.hpp"
#include "reference_check.hpp"

namespace avg_pool2d_tests {

using namespace cairn;

namespace {

using Options = AvgPool2d<3, kernel_width<2>, stride<2, 1>, padding<1>>;
using Exclude = AvgPool2d<3, stride<2>, padding<1>, no_count_include_pad>;
using Ceil = AvgPool2d<3, stride<2>, padding<1>, ceil_mode>;

} // namespace

static_assert(layer<AvgPool2d<2>> && layer<Options>);
static_assert(AvgPool2d<2>::outputs(given{{5, 4, 3}}) == tensor{2, 2, 3} && Ceil::outputs(given{{6, 7, 2}}) == tensor{4, 4, 2});
static_assert(AvgPool2d<2>::accepts(given{{2, 2, 7}}) && !AvgPool2d<2>::accepts(given{{2, 1, 7}}));
static_assert(!AvgPool2d<1>::accepts(given{{4, 4}}) && !AvgPool2d<1>::accepts(given{tensor{4, 4, 1}.of(element::int32)}));
static_assert(AvgPool2d<2>::flops(given{{4, 4, 3}}).forward == 48 + 12);

TEST_CASE("AvgPool2d: gradients") {
  CHECK(gradient_fault<AvgPool2d<2>>({{3, 4, 2}}) == "");
  CHECK(gradient_fault<Options>({{4, 3, 3}}) == "");
  CHECK(gradient_fault<AvgPool2d<3, stride<2>, padding<1>, ceil_mode, no_count_include_pad>>({{4, 3, 2}}) == "");
}

TEST_CASE_TEMPLATE("AvgPool2d: PyTorch's numbers", T, float, double) {
  const double most = sizeof(T) == 4 ? 1e-6 : 1e-14;
  CHECK(distance_from_torch<AvgPool2d<2>, T>("avg_pool2d", {4, 5, 3}) < most);
  CHECK(distance_from_torch<Options, T>("avg_pool2d_options", {6, 5, 3}) < most);
  CHECK(distance_from_torch<Exclude, T>("avg_pool2d_exclude", {6, 5, 3}) < most);
  CHECK(distance_from_torch<Ceil, T>("avg_pool2d_ceil", {6, 7, 2}) < most);
  CHECK(distance_from_torch<AvgPool2d<2, ceil_mode, no_count_include_pad>, T>("avg_pool2d_ceil_exclude", {5, 7, 2}) < most);
}

} // namespace avg_pool2d_tests
