// SPDX-License-Identifier: MIT
#include <cairn/train/target_arrays.hpp>

#include <array>
#include <span>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

namespace target_arrays_tests {

using namespace cairn;

using floats = std::vector<float>;
static_assert(detail::step_targets<floats> && !detail::several_targets<floats>);
static_assert(detail::several_targets<std::tuple<floats, std::vector<int>>>);
static_assert(!detail::step_targets<std::tuple<floats, int>> && !detail::step_targets<int>);

TEST_CASE("targets: references to arrays of any types") {
  const floats boxes{1, 2};
  const std::array<int, 1> labels{7};
  const auto all = multi::targets(boxes, labels);
  static_assert(detail::several_targets<decltype(all)>);
  CHECK(&std::get<0>(detail::target_tuple(all)) == &boxes);
  CHECK(&std::get<1>(detail::target_tuple(all)) == &labels);
  CHECK(&std::get<0>(detail::target_tuple(boxes)) == &boxes);
  const std::tuple<std::span<const int>> of_batch{labels};
  CHECK(std::get<0>(detail::target_tuple(of_batch))[0] == 7);
}

} // namespace target_arrays_tests
