// SPDX-License-Identifier: MIT
#include <cairn/layer/group_norm.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "alone.hpp"
#include "given.hpp"
#include "reference_check.hpp"

namespace group_norm_tests {

using namespace cairn;

static_assert(layer<GroupNorm<2, 6>> && GroupNorm<2, 6>::in_place && GroupNorm<2, 6>::eps == 1e-5);
static_assert(GroupNorm<2, 6>::accepts(given{{3, 4, 6}}) && GroupNorm<2, 6>::accepts(given{{6}}));
static_assert(!GroupNorm<2, 6>::accepts(given{{3, 4, 5}}) && !GroupNorm<1, 1>::accepts(given{{}}));
static_assert(GroupNorm<2, 6>::tape(given{{3, 4, 6}}) == tensor_list{tensor{2, 2}.of(element::accumulated)});
static_assert(GroupNorm<2, 6>::parameters(given{{3, 4, 6}})[0].extents == shape{6} &&
              GroupNorm<2, 6>::parameters(given{{3, 4, 6}})[0].start.scale == 1 &&
              GroupNorm<2, 6>::parameters(given{{3, 4, 6}})[1].start.scale == 0);

TEST_CASE("GroupNorm: gradients") {
  CHECK(gradient_fault<GroupNorm<2, 6>>({{2, 2, 6}}) == "");
  CHECK(gradient_fault<GroupNorm<1, 5>>({{5}}) == "");
  CHECK(gradient_fault<GroupNorm<3, 3>>({{2, 3, 3}}) == "");
}

TEST_CASE_TEMPLATE("GroupNorm: PyTorch's numbers", T, float, double) {
  const double most = sizeof(T) == 4 ? 5e-6 : 1e-12;
  CHECK(distance_from_torch<GroupNorm<3, 6>, T>("group_norm", {3, 4, 6}) < most);
  CHECK(distance_from_torch<GroupNorm<1, 19, fraction{1, 10}>, T>("group_norm_eps", {2, 2, 19}) < most);
  CHECK(distance_from_torch<GroupNorm<4, 4>, T>("group_norm_instances", {3, 3, 4}) < most);
}

} // namespace group_norm_tests
