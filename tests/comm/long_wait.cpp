// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <chrono>
#include <string>
#include <thread>

#include <cairn/comm/long_wait.hpp>
#include <doctest/doctest.h>

#include "stopped_child.hpp"

namespace long_wait_tests {

using cairn::detail::long_wait;
using namespace std::chrono_literals;

TEST_CASE("long_wait: times are told in seconds where they are some") {
  CHECK(cairn::detail::text_of(30'000ms) == "30 s");
  CHECK(cairn::detail::text_of(1500ms) == "1500 ms");
  CHECK(cairn::detail::text_of(20ms) == "20 ms");
}

TEST_CASE("long_wait: lines come at the deadline and where the wait has doubled, until the limit") {
  const auto begun = long_wait::clock::now();
  const auto child = testing::run_in_child(0ms, [](const auto&) {
    long_wait wait(40ms, 1000ms);
    while (!wait.is_over([] { return "rank 1 waits"; })) std::this_thread::sleep_for(5ms);
    return 0;
  });
  CHECK(child.status == 0);
  CHECK(long_wait::clock::now() - begun >= 1s);
  int lines = 0;
  for (std::size_t at = 0; (at = child.errors.find("rank 1 waits (", at)) != std::string::npos; ++at) ++lines;
  CHECK(lines >= 2); // 40, 80, 160, 320 and 640 ms, or fewer where the machine is busy
  CHECK(lines <= 5);
  CHECK(child.errors.find("ms so far, at most 1 s)\n") != std::string::npos);
}

TEST_CASE("long_wait: one whose limit is no more than the deadline is over without a line") {
  const auto child = testing::run_in_child(0ms, [](const auto&) {
    long_wait wait(20ms, 10ms);
    while (!wait.is_over([] { return "rank 1 waits"; })) std::this_thread::sleep_for(1ms);
    return wait.limit() == 20ms ? 0 : 1;
  });
  CHECK(child.status == 0);
  CHECK(child.errors.empty());
}

} // namespace long_wait_tests
