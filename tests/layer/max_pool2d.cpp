// SPDX-License-Identifier: MIT
#include <cairn/layer/max_pool2d.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "alone.hpp"
#include "given.hpp"
#include "reference_check.hpp"

namespace max_pool2d_tests {

using namespace cairn;

namespace {

using Options = MaxPool2d<3, kernel_width<2>, stride<2, 1>, padding<1>, dilation<1, 2>>;
using Ceil = MaxPool2d<3, stride<2>, ceil_mode>;

} // namespace

static_assert(layer<MaxPool2d<2>> && layer<Options>);
static_assert(MaxPool2d<2>::outputs(given{{5, 4, 3}}) == tensor{2, 2, 3} && Ceil::outputs(given{{6, 5, 2}}) == tensor{3, 2, 2});
static_assert(MaxPool2d<2>::accepts(given{{2, 2, 7}}) && !MaxPool2d<2>::accepts(given{{2, 1, 7}}));
static_assert(!MaxPool2d<1>::accepts(given{{4, 4}}) && !MaxPool2d<1>::accepts(given{tensor{4, 4, 1}.of(element::int32)}));
static_assert(MaxPool2d<2>::flops(given{{4, 4, 3}}).forward == 48);

TEST_CASE("MaxPool2d: gradients") {
  CHECK(gradient_fault<MaxPool2d<2>>({{3, 4, 2}}) == "");
  CHECK(gradient_fault<MaxPool2d<3, stride<1>, padding<1>>>({{3, 3, 2}}) == "");
  CHECK(gradient_fault<Options>({{4, 5, 3}}) == "");
}

TEST_CASE_TEMPLATE("MaxPool2d: PyTorch's numbers", T, float, double) {
  const double most = sizeof(T) == 4 ? 1e-6 : 1e-15;
  CHECK(distance_from_torch<MaxPool2d<2>, T>("max_pool2d", {4, 5, 3}) < most);
  CHECK(distance_from_torch<Options, T>("max_pool2d_options", {6, 5, 3}) < most);
  CHECK(distance_from_torch<Ceil, T>("max_pool2d_ceil", {6, 5, 2}) < most);
  CHECK(distance_from_torch<MaxPool2d<3, stride<1>, padding<1>>, T>("max_pool2d_ties", {5, 6, 3}) < most);
}

} // namespace max_pool2d_tests
