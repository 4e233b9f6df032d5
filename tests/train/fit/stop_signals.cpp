// SPDX-License-Identifier: MIT
#include <cairn/train/fit/stop_signals.hpp>

#include <csignal>
#include <optional>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "../default_signals.hpp"

namespace stop_signals_tests {

using namespace cairn;

TEST_CASE("stop_signals: the first one is noted, the second ends the process as ever") {
  const testing::default_signals defaults;
  for (const int number : {SIGTERM, SIGINT}) {
    {
      std::optional<stop_signals> outer(std::in_place);
      const stop_signals inner;
      CHECK(inner.arrived() == 0);
      ::raise(number);
      CHECK(inner.arrived() == number);
      outer.reset();
      CHECK(inner.arrived() == number);
      CHECK(std::string(stop_signals::name_of(number)) == (number == SIGTERM ? "SIGTERM" : "SIGINT"));
    }
    CHECK(testing::default_signals::is_default(number));
    const stop_signals next;
    CHECK(next.arrived() == 0);
    CHECK_FALSE(testing::default_signals::is_default(number));
    const pid_t child = ::fork();
    if (child == 0) {
      ::raise(number);
      ::raise(number);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == number));
  }
}

TEST_CASE("stop_signals: what the program handles or ignores itself is left alone") {
  const testing::default_signals defaults;
  static int seen;
  seen = 0;
  std::signal(SIGTERM, [](int) { ++seen; });
  std::signal(SIGINT, SIG_IGN);
  {
    const stop_signals own;
    ::raise(SIGTERM);
    ::raise(SIGINT);
    CHECK(own.arrived() == 0);
  }
  ::raise(SIGTERM);
  CHECK(seen == 2);
}

} // namespace stop_signals_tests
