// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include <cairn/plan/step/step_op.hpp>

namespace step_op_tests {

using namespace cairn;
using namespace cairn::plan;

TEST_CASE("step_op: every kind has a name of its own, and the schedule's come first") {
  std::set<std::string> names;
  for (std::size_t k = 0; k < detail::step_op_kinds; ++k) {
    const step_op o{static_cast<step_op_kind>(k)};
    names.insert(name_of(o.kind));
    CHECK(o.is_scheduled() == (k < 5));
  }
  CHECK(names.size() == detail::step_op_kinds);
  CHECK(std::string(name_of(step_op_kind::take_inputs)) == "take inputs");
  CHECK(std::string(name_of(step_op_kind::update)) == "update");
}

TEST_CASE("step_op: the calls of two lists are alike where all ranks meet in them, whatever else is done between") {
  constexpr auto hash = [](std::initializer_list<step_op> list) { return detail::hash_of_calls({list.begin(), list.size()}); };
  using enum step_op_kind;
  constexpr std::uint64_t own = hash({{forward, 0}, {statistics, 0}, {facts}, {reduce, 0}, {reduce, 1}, {wait, 0}, {update, 0}});
  static_assert(hash({{forward, 0}, {forward, 1}, {statistics, 0}, {facts}, {reduce, 0}, {backward, 2}, {reduce, 1}}) == own);
  static_assert(hash({{statistics, 0}, {facts}, {reduce, 1}, {reduce, 0}}) != own);
  static_assert(hash({{statistics, 0}, {reduce, 0}, {facts}, {reduce, 1}}) != own);
  static_assert(hash({{statistics, 1}, {facts}, {reduce, 0}, {reduce, 1}}) != own);
  static_assert(hash({{statistics, 0}, {facts}, {reduce, 0}}) != own);
  CHECK(hash({{facts}, {reduce, 0}}) != own);
}

} // namespace step_op_tests
