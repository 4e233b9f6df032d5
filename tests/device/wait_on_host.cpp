// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstddef>
#include <stdexcept>

#include <sys/resource.h>

#include <cairn/device/wait_on_host.hpp>
#include <doctest/doctest.h>

namespace wait_on_host_tests {

using namespace cairn;

namespace {

// A queue whose event is reached at the `needed`-th query.
struct slow {
  int asked = 0;
  int needed = 0;
  bool reached(int) { return ++asked >= needed; }
};
struct works_only_then : slow {
  static constexpr bool works_while_asked = true;
};
constexpr std::chrono::milliseconds long_enough{60'000};

#if defined(RUSAGE_THREAD)
// How often this thread has slept.
std::size_t sleeps() {
  rusage now{};
  REQUIRE(getrusage(RUSAGE_THREAD, &now) == 0);
  return static_cast<std::size_t>(now.ru_nvcsw);
}
#endif

} // namespace

TEST_CASE("wait_on_host: it asks until the place is reached, and between two questions whether it will be") {
  slow queue{.needed = 5};
  int checks = 0;
  detail::wait_on_host(queue, 0, long_enough, [&] { ++checks; });
  CHECK(checks == 3);
  detail::wait_on_host(queue, 0, long_enough, [&] { ++checks; });
  CHECK(checks == 3);
}

TEST_CASE("wait_on_host: a deadline ends it, and so does what is found meanwhile") {
  slow never{.needed = 1 << 30};
  CHECK_THROWS_WITH_AS(detail::wait_on_host(never, 0, std::chrono::milliseconds(1), [] {}),
                       doctest::Contains("expected its work to be done within 1 ms"), deadline_error);
  CHECK_THROWS_WITH_AS(detail::wait_on_host(never, 0, long_enough, [] { throw rank_lost("rank 3 is gone"); }), "rank 3 is gone",
                       rank_lost);
}

TEST_CASE("wait_on_host: a long wait leaves the core to others") {
  slow never{.needed = 1 << 30};
  CHECK_THROWS_AS(detail::wait_on_host(never, 0, std::chrono::milliseconds(200), [] {}), deadline_error);
  CHECK(never.asked > 1);
  CHECK(never.asked < 20'000); // 200 ms are 10,000 times 20 us; without a pause it asks some 300,000 times
}

#if defined(RUSAGE_THREAD)
TEST_CASE("wait_on_host: a queue that works only while it is asked is asked all the time, and short waits do not sleep") {
  const std::size_t before = sleeps();
  works_only_then busy;
  busy.needed = 20'000;
  detail::wait_on_host(busy, 0, long_enough, [] {});
  CHECK(busy.asked == 20'000);
  CHECK(sleeps() - before < 1'000); // a pause at each question is 19,998
  const std::size_t between = sleeps();
  for (int wait = 0; wait < 100; ++wait) {
    slow queue{.needed = 5};
    detail::wait_on_host(queue, 0, long_enough, [] {});
  }
  CHECK(sleeps() - between < 100); // a pause at each question is 300; a thread that has lost its core may find 50 us to be over
}
#endif

TEST_CASE("wait_on_host: all that is on a queue is waited for") {
  struct two : slow {
    int record() { return needed = 2, 0; }
  } queue;
  detail::finish_on_host(queue);
  CHECK(queue.asked == 2);
}

} // namespace wait_on_host_tests
