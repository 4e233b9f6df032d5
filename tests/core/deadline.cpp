// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <cairn/core/deadline.hpp>

namespace deadline_tests {

using namespace cairn;
using namespace std::chrono_literals;

namespace {

// A stopped clock, 50 years after its epoch: about as far as the system clock is from 1970.
struct stopped {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<stopped>;
  [[maybe_unused]] static constexpr bool is_steady = true;
  static time_point now() { return time_point(24h * 365 * 50); }
};
using std::chrono::milliseconds;

template <class Wait>
stopped::duration left_of(Wait wait) {
  return detail::deadline_after<stopped>(wait) - stopped::now();
}

} // namespace

TEST_CASE("a deadline is so much later than now") {
  CHECK(left_of(5000ms) == 5s);
  CHECK(left_of(std::chrono::hours(24)) == 24h);
  CHECK(left_of(0ms) == 0ns);
  using steady = std::chrono::steady_clock;
  const auto before = steady::now();
  CHECK(detail::deadline_after<steady>(60000ms) >= before + 1min);
}

TEST_CASE("the longest deadline is far away, and a negative one is over") {
  constexpr auto years = 24h * 365;
  CHECK(left_of(milliseconds::max()) > 99 * years);
  CHECK(left_of(stopped::duration::max()) > 99 * years);
  CHECK(left_of(std::chrono::hours(std::chrono::hours::rep{1} << 40)) > 99 * years);
  // Leaves room for what a standard library adds when it converts the time point to another clock.
  CHECK(detail::deadline_after<stopped>(milliseconds::max()) < stopped::time_point::max() - 99 * years);
  CHECK(left_of(milliseconds::min()) == 0ns);
  CHECK(left_of(-1ms) == 0ns);
}

namespace {

// A clock that the test sets.
struct hand_set {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<hand_set>;
  [[maybe_unused]] static constexpr bool is_steady = true;
  static inline time_point at{};
  static time_point now() { return at; }
};
using running = detail::running_deadline<hand_set>;

// Looks at the deadline at each next_look(), for `time` at most. Returns whether it was over.
bool is_over_after(running& deadline, std::chrono::milliseconds time) {
  const auto end = hand_set::at + time;
  bool is_over = false;
  while (!is_over && hand_set::at < end) {
    hand_set::at = std::min(end, deadline.next_look());
    is_over = deadline.is_over();
  }
  return is_over;
}

} // namespace

TEST_CASE("running_deadline: looked at in time it is a deadline as others are") {
  for (const auto wait : {1ms, 40ms, 1000ms, 30'000ms}) {
    running deadline(wait);
    CHECK(deadline.next_look() - hand_set::now() <= 250ms);
    CHECK_FALSE(is_over_after(deadline, wait - 1ms));
    CHECK(is_over_after(deadline, 1ms));
    CHECK(deadline.next_look() <= hand_set::now());
  }
  running none(-5ms);
  CHECK(none.is_over());
  running for_ever(milliseconds::max());
  CHECK_FALSE(is_over_after(for_ever, 3'600'000ms));
}

TEST_CASE("running_deadline: after an absence it is granted once more, and later absences do not count") {
  running deadline(1000ms);
  CHECK_FALSE(is_over_after(deadline, 900ms));
  hand_set::at += 24h;
  CHECK_FALSE(deadline.is_over());
  CHECK_FALSE(is_over_after(deadline, 500ms));
  hand_set::at += 10s; // a second absence grants nothing; one slice of these ten seconds is counted
  CHECK_FALSE(deadline.is_over());
  CHECK_FALSE(is_over_after(deadline, 300ms));
  CHECK(is_over_after(deadline, 200ms));
}

TEST_CASE("running_deadline: a process that comes and goes for ever does not wait for ever") {
  running deadline(1000ms);
  int looks = 0;
  for (bool is_over = false; !is_over && looks < 1000; ++looks) {
    hand_set::at += 5s;
    is_over = deadline.is_over();
  }
  CHECK(looks < 20);
}

TEST_CASE("running_deadline: a busy machine wakes threads late, and that is no absence") {
  running deadline(1000ms);
  int looks = 0;
  for (bool is_over = false; !is_over; ++looks) {
    hand_set::at += 200ms; // 125 ms were requested
    is_over = deadline.is_over();
  }
  CHECK(looks == 5);
}

TEST_CASE("running_deadline: where looks come seldom, a gap of more than the slice is an absence") {
  running seldom(1000ms, hand_set::now(), 500ms);
  hand_set::at += 550ms;
  CHECK_FALSE(seldom.is_over());
  hand_set::at += 500ms;
  CHECK(seldom.is_over());
  CHECK_FALSE(seldom.is_over(hand_set::now(), 100ms)); // not over by 100 ms
  running gone(1000ms, hand_set::now(), 500ms);
  hand_set::at += 2s;
  CHECK_FALSE(gone.is_over());
  hand_set::at += 550ms;
  CHECK_FALSE(gone.is_over());
  hand_set::at += 500ms;
  CHECK(gone.is_over());
}

TEST_CASE("wait_within: it ends when the condition holds, or when the deadline is over") {
  std::mutex mutex;
  std::condition_variable told;
  bool holds = false;
  std::unique_lock lock(mutex);
  detail::running_deadline<std::chrono::steady_clock> soon(20ms), late(60'000ms);
  CHECK_FALSE(detail::wait_within(soon, told, lock, [&] { return holds; }));
  std::thread other([&] {
    const std::lock_guard own(mutex);
    holds = true;
    told.notify_one();
  });
  CHECK(detail::wait_within(late, told, lock, [&] { return holds; }));
  lock.unlock();
  other.join();
}

} // namespace deadline_tests
