// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <cairn/comm/mpi/message_group.hpp>
#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

#include "fake_wire.hpp"

namespace message_group_tests {

using namespace cairn;
using namespace std::chrono_literals;
using testing::wire;
using testing::wire_transport;
using group = detail::message_group<wire_transport>;

TEST_CASE("a group knows its place once it is made, and ends its thread") {
  wire all(2);
  const group one({.deadline = 10s, .max_in_flight = 4}, [&] { return wire_transport(all, 1); });
  CHECK(one.engine().here().rank == 1);
  CHECK(one.engine().here().size == 2);
  CHECK(one.engine().whose() == "wire: rank 1 of 2");
}

TEST_CASE("what a transport's constructor throws, the group's does") {
  CHECK_THROWS_WITH_AS(
      group({.deadline = 10s, .max_in_flight = 4}, []() -> wire_transport { throw input_error("no network here"); }),
      "no network here", input_error);
}

TEST_CASE("a job that does not begin is a deadline_error, and its thread is left to itself") {
  const auto all = std::make_shared<wire>(2);
  const auto goes_on = std::make_shared<std::atomic<bool>>(false), gone = std::make_shared<std::atomic<bool>>(false);
  CHECK_THROWS_WITH_AS(group({.deadline = 20ms, .max_in_flight = 4, .long_deadline = 20ms, .told_place = "rank 2 of 4"},
                             [=] {
                               while (!*goes_on) std::this_thread::sleep_for(1ms);
                               *gone = true;
                               return wire_transport(*all, 0);
                             }),
                       doctest::Contains("wire: rank 2 of 4: the job has not begun within 20 ms"), deadline_error);
  CHECK_THROWS_WITH_AS(group({.deadline = 20ms,
                              .max_in_flight = 4,
                              .long_deadline = 20ms,
                              .told_place = "rank 2 of 4",
                              .missing = [] { return std::string("rank 1 has not come"); }},
                             [=]() -> wire_transport {
                               while (!*goes_on) std::this_thread::sleep_for(1ms);
                               throw input_error("too late");
                             }),
                       doctest::Contains("expected every process that was started to join it, found that rank 1 has not come; a "
                                         "process that has not come has ended, is stopped, or is busy before it makes its"),
                       deadline_error);
  *goes_on = true;
  while (!*gone) std::this_thread::sleep_for(1ms);
}

} // namespace message_group_tests
