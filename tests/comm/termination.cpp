// SPDX-License-Identifier: MIT
#include <csignal>

#include <semaphore.h>

#include <cairn/comm/termination.hpp>
#include <doctest/doctest.h>

#include "../train/default_signals.hpp"

namespace termination_tests {

using namespace cairn;

TEST_CASE("SIGTERM is noted and rings the bell, and the default comes back") {
  const testing::default_signals untouched;
  sem_t bell{};
  REQUIRE(::sem_init(&bell, 0, 0) == 0);
  {
    const detail::termination_notice notice(bell);
    CHECK_FALSE(testing::default_signals::is_default(SIGTERM));
    CHECK_FALSE(detail::termination_notice::arrived());
    std::raise(SIGTERM);
    CHECK(detail::termination_notice::arrived());
    CHECK(::sem_trywait(&bell) == 0);
    CHECK(testing::default_signals::is_default(SIGTERM)); // the next signal ends the process
  }
  CHECK(testing::default_signals::is_default(SIGTERM));
  detail::termination::of_process().arrived = false;
  ::sem_destroy(&bell);
}

TEST_CASE("SIGTERM is left alone where the program handles it") {
  const testing::default_signals untouched;
  std::signal(SIGTERM, SIG_IGN);
  sem_t bell{};
  REQUIRE(::sem_init(&bell, 0, 0) == 0);
  {
    const detail::termination_notice notice(bell);
    std::raise(SIGTERM);
    CHECK_FALSE(detail::termination_notice::arrived());
  }
  ::sem_destroy(&bell);
}

} // namespace termination_tests
