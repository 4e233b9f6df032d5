// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>

#include <cairn/core/deadline.hpp>

namespace deadline_tests {

using namespace cairn;
using namespace std::chrono_literals;

namespace {

// A clock that stands still, 50 years after its epoch: as far as the system's is from 1970.
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
  // Room for what a standard library adds when it turns the moment into one of another clock.
  CHECK(detail::deadline_after<stopped>(milliseconds::max()) < stopped::time_point::max() - 99 * years);
  CHECK(left_of(milliseconds::min()) == 0ns);
  CHECK(left_of(-1ms) == 0ns);
}

} // namespace deadline_tests
