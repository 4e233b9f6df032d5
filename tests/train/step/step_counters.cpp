// SPDX-License-Identifier: MIT
#include <cairn/train/step/step_counters.hpp>
#include <doctest/doctest.h>

namespace step_counters_tests {

using namespace cairn;

TEST_CASE("step_counters: a step that is given up takes its micro-batches along, and leaves a wish to stop") {
  detail::step_counters c{.steps = 4, .micro_batches = 3, .is_scaled = true, .tells_stop = true};
  c.give_up();
  CHECK(c.micro_batches == 0);
  CHECK(c.steps == 4);
  CHECK(c.wants_to_stop);
  CHECK_FALSE(c.tells_stop);
  c.wants_to_stop = false;
  c.give_up();
  CHECK_FALSE(c.wants_to_stop);

  c.micro_batches = 2;
  c.begin_at(9);
  CHECK(c.steps == 9);
  CHECK(c.micro_batches == 0);
  CHECK_FALSE(c.is_scaled);
}

} // namespace step_counters_tests
