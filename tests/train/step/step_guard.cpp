// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <doctest/doctest.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include <cairn/train/step/step_guard.hpp>

namespace step_guard_tests {

using namespace cairn;
using cairn::detail::left_behind, cairn::detail::step_guard;

namespace {

// The state in which an exception of the next step leaves the trainer.
left_behind left{};
const auto what_is_left = [] { return left; };

std::string said(step_guard& guard, const auto& step, int& abandoned) {
  left = {};
  try {
    guard.run(
        3,
        [&] {
          step();
          return 0.5;
        },
        what_is_left,
        [&] {
          CHECK(std::uncaught_exceptions() > 0);
          ++abandoned;
        });
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
  return {};
}

} // namespace

TEST_CASE("step_guard: a step that fails early leaves nothing, one that fails late is given up, or is the last") {
  step_guard guard;
  int abandoned = 0;
  CHECK(said(guard, [] {}, abandoned) == "");
  CHECK(said(guard, [] { throw std::runtime_error("early"); }, abandoned) == "early");
  CHECK(abandoned == 0);
  const auto late = [&](bool is_final) {
    left = {.gradients = true, .is_final = is_final};
    throw std::runtime_error("late");
  };
  CHECK(said(guard, [&] { late(false); }, abandoned) == "late");
  CHECK(abandoned == 1);
  CHECK(said(guard, [] { throw std::runtime_error("early"); }, abandoned) == "early");
  CHECK(abandoned == 1);
  CHECK(said(guard, [&] { late(true); }, abandoned) == "late");
  CHECK(abandoned == 2);
  CHECK(said(
            guard, [] { FAIL("it ran"); }, abandoned)
            .find("expected synchronize() on every rank before the next step, "
                  "as one has failed: late") != std::string::npos);
  guard.clear();
  CHECK(said(guard, [] {}, abandoned) == "");
}

TEST_CASE("step_guard: what concerns other ranks says in which step, and stays of its kind") {
  step_guard guard;
  const auto lose = [&] { return guard.run(3, []() -> double { throw rank_lost("gone"); }, what_is_left, [] {}); };
  CHECK_THROWS_AS(lose(), rank_lost);
  CHECK_THROWS_WITH(lose(), "trainer, step 3: gone; the job is over, unless every rank catches this and calls synchronize()");
  const auto wait = [&] { return guard.run(4, []() -> double { throw deadline_error("late"); }, what_is_left, [] {}); };
  CHECK_THROWS_AS(wait(), deadline_error);
  CHECK_THROWS_WITH(wait(), doctest::Contains("trainer, step 4: late"));
  const auto fail = [&] { return guard.run(6, []() -> double { throw device_error("broken"); }, what_is_left, [] {}); };
  CHECK_THROWS_AS(fail(), device_error);
  CHECK_THROWS_WITH(fail(), "trainer, step 6: broken");
  CHECK_THROWS_WITH(guard.run(
                        7, []() -> double { throw device_error("broken").in_step("trainer, step 5 or 6"); }, what_is_left, [] {}),
                    "trainer, step 5 or 6: broken");
  CHECK_THROWS_AS(guard.run(5, []() -> double { throw 7; }, what_is_left, [] {}), int);
}

TEST_CASE("step_guard: ranks that differ are told in which step, and inputs that do not fit concern no step") {
  step_guard guard;
  int abandoned = 0;
  const auto differ = [&] {
    left = {.gradients = true, .is_final = true};
    throw input_error("the ranks make different calls");
  };
  CHECK(said(guard, [] { throw input_error("8 labels for 9 inputs"); }, abandoned) == "8 labels for 9 inputs");
  CHECK(said(guard, differ, abandoned) == "trainer, step 3: the ranks make different calls");
  CHECK(abandoned == 1);
  CHECK(
      said(guard, [] { FAIL("it ran"); }, abandoned).find("as one has failed: trainer, step 3: the ranks") != std::string::npos);
  guard.clear();
  CHECK(said(
            guard,
            [] {
              left = {.gradients = true, .is_final = true, .by_all = true};
              throw input_error("ddp: the ranks differ");
            },
            abandoned) == "ddp: the ranks differ");
  CHECK(abandoned == 2); // all ranks can set it right
  CHECK(said(guard, [] {}, abandoned) == "");
  CHECK_THROWS_AS(guard.run(3, [&]() -> double { return differ(), 0.0; }, what_is_left, [] {}), input_error);
}

TEST_CASE("step_guard: a second thread in a step is refused, and the step goes on") {
  step_guard guard;
  std::string told;
  const double loss = guard.run(
      3,
      [&] {
        std::thread([&] {
          int abandoned = 0;
          told = said(guard, [] { FAIL("it ran"); }, abandoned);
        }).join();
        return 0.25;
      },
      what_is_left, [] {});
  CHECK(loss == 0.25);
  CHECK(told.find("trainer: a step: expected one thread at a time") == 0);
  int abandoned = 0;
  CHECK(said(guard, [] {}, abandoned) == "");
}

} // namespace step_guard_tests
