// SPDX-License-Identifier: MIT
#include <cstdint>
#include <type_traits>

#include <cairn/device/cpu.hpp>
#include <cairn/train/step/step_loss.hpp>
#include <doctest/doctest.h>

#include "../apart.hpp"

namespace step_loss_tests {

using namespace cairn;

TEST_CASE("step_loss: it asks its owner when it is used, and waits only if its number is wanted") {
  static_assert(std::is_same_v<detail::loss_of_step<cpu>, double>);
  static_assert(std::is_same_v<detail::loss_of_step<apart::device>, types::step_loss>);
  struct owner {
    bool is_done = false;
    static double read(void* self, std::uint64_t call, bool wait, bool& is_there) {
      auto* const me = static_cast<owner*>(self);
      me->is_done = me->is_done || wait;
      is_there = me->is_done;
      return me->is_done ? 0.5 * static_cast<double>(call) : 0;
    }
  } own;
  const types::step_loss loss(&own, 7, &owner::read);
  CHECK_FALSE(loss.is_there());
  const double number = loss;
  CHECK(number == 3.5);
  CHECK(loss.is_there());
}

} // namespace step_loss_tests
