// SPDX-License-Identifier: MIT
#include <chrono>

#include <cairn/comm/mpi/bell.hpp>
#include <doctest/doctest.h>

namespace bell_tests {

using namespace std::chrono_literals;

TEST_CASE("bell: a sleep ends with its time, and at once where the bell was rung") {
  using clock = std::chrono::steady_clock;
  sem_t bell{};
  REQUIRE(::sem_init(&bell, 0, 0) == 0);
  const auto begun = clock::now();
  cairn::detail::sleep_until_rung(bell, 1100ms); // more than the nanoseconds of a second
  CHECK(clock::now() - begun >= 1s);
  ::sem_post(&bell);
  cairn::detail::sleep_until_rung(bell, 10min);
  CHECK(clock::now() - begun < 5min);
  ::sem_destroy(&bell);
}

} // namespace bell_tests
