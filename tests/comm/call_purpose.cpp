// SPDX-License-Identifier: MIT
#include <string>
#include <utility>

#include <cairn/comm/call_purpose.hpp>
#include <doctest/doctest.h>

namespace call_purpose_tests {

using namespace cairn;

namespace {
struct learner {
  types::call_purpose now{};
  types::call_purpose purpose(const types::call_purpose& next) { return std::exchange(now, next); }
};
struct deaf {};
static_assert(detail::learns_purposes<learner> && !detail::learns_purposes<deaf>);
} // namespace

TEST_CASE("call_purpose: it is a word and a number") {
  CHECK(types::call_purpose{}.text().empty());
  CHECK(types::call_purpose{.word = "join"}.text() == "join");
  CHECK(types::call_purpose{.word = "step", .number = 12}.text() == "step 12");
}

TEST_CASE("call_purpose: the one before comes back, and a communicator that learns none is left alone") {
  learner comm;
  {
    const detail::calls_for outer(comm, {.word = "save_state", .may_take_long = true});
    {
      const detail::calls_for inner(comm, {.word = "synchronize"});
      CHECK(comm.now.text() == "synchronize");
      CHECK_FALSE(comm.now.may_take_long);
    }
    CHECK(comm.now.text() == "save_state");
    CHECK(comm.now.may_take_long);
  }
  CHECK(comm.now.word == nullptr);
  deaf none;
  const detail::calls_for nothing(none, {.word = "step"});
  static_assert(sizeof(nothing) <= 2);
}

} // namespace call_purpose_tests
