// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <chrono>
#include <string>
#include <thread>

#include <cairn/comm/threads/body_ends.hpp>
#include <doctest/doctest.h>

#include "../stopped_child.hpp"

namespace body_ends_tests {

using cairn::detail::body_ends;
using namespace std::chrono_literals;

namespace {
constexpr auto nothing_failed = [] { return std::string(); };
} // namespace

TEST_CASE("body_ends: a wait ends with the last body, whichever that is") {
  body_ends ends(3);
  ends.mark(0);
  ends.mark(2);
  std::thread last([&] {
    std::this_thread::sleep_for(5ms);
    ends.mark(1);
    ends.mark(1); // no body ends twice, but it does no harm
  });
  CHECK(ends.wait(10s, 1h, nothing_failed));
  last.join();
  CHECK(ends.late().empty());
}

TEST_CASE("body_ends: after the deadline lines name the ranks that are missing, after the limit the wait is over") {
  const auto child = testing::run_in_child(0ms, [](const auto&) {
    body_ends ends(4);
    ends.mark(0);
    ends.mark(2);
    const bool all_ended = ends.wait(50ms, 600ms, [] { return std::string(" (rank 2 threw: ouch)"); });
    return !all_ended && ends.late() == "rank 1, rank 3" ? 0 : 1;
  });
  CHECK(child.status == 0);
  const std::string line = "threads: the body of rank 0 has ended, and waits for that of rank 1, rank 3 (rank 2 threw: ouch) (";
  CHECK(child.errors.find(line) == 0);
  CHECK(child.errors.find(line, 1) != std::string::npos);
  CHECK(child.errors.find(" so far, at most 600 ms)\n") != std::string::npos);
}

} // namespace body_ends_tests
