// SPDX-License-Identifier: MIT
#include <type_traits>
#include <utility>

#include <cairn/plan/run_time_plan.hpp>
#include <doctest/doctest.h>

namespace run_time_plan_tests {

using namespace cairn;
using namespace cairn::plan;

TEST_CASE("run_time_plan: it owns its arrays, so it can be copied and moved") {
  detail::run_time_plan one;
  one.training.storage.make_room(2);
  one.training.count = 1;
  one.training.storage[0].position = 7;
  detail::run_time_plan two = one;
  two.training.storage[0].position = 9;
  CHECK(one.training.ops()[0].position == 7);
  const detail::run_time_plan three = std::move(two);
  CHECK(three.training.ops()[0].position == 9);
}

} // namespace run_time_plan_tests
