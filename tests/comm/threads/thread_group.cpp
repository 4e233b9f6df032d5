// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cairn/comm/threads/thread_group.hpp>
#include <doctest/doctest.h>

namespace thread_group_tests {

using cairn::detail::rank_call;
using cairn::detail::thread_group;
using namespace std::chrono_literals;

namespace {

rank_call sum_of(std::vector<float>& values) { return {rank_call::kind::sum_float, 0, values.data(), values.size()}; }

std::string thrown_in_wait(thread_group& group, int rank, std::uint64_t call) {
  try {
    group.wait(rank, call);
  } catch (const cairn::error& thrown) {
    return thrown.what();
  }
  return {};
}

std::string thrown_in_check(thread_group& group, int rank) {
  try {
    group.check(rank);
  } catch (const cairn::error& thrown) {
    return thrown.what();
  }
  return {};
}

} // namespace

// One thread may play all ranks, as long as it does not wait for itself.
TEST_CASE("thread_group: the communication threads finish a call that nobody waits for") {
  thread_group group(2, 10s, 16);
  std::vector<float> zero(1000, 1.0F);
  std::vector<float> one(1000, 2.0F);
  const auto call = group.start(0, sum_of(zero));
  CHECK(group.start(1, sum_of(one)) == call);
  group.wait(0, call);
  group.wait(1, call);
  CHECK(zero == std::vector<float>(1000, 3.0F));
  CHECK(one == zero);
}

TEST_CASE("thread_group: a call that is given up halts the group, and the reason is told when it is known") {
  std::vector<float> zero(10, 1.0F);
  std::vector<float> one(10, 2.0F);
  thread_group group(3, 50ms, 16); // rank 2 starts nothing
  const auto call = group.start(0, sum_of(zero));
  group.start(1, sum_of(one));
  group.drop(0, call);
  CHECK(group.halted());
  const auto told = [&] { return thrown_in_wait(group, 1, call); };

  SUBCASE("its rank throws: the exception is the reason") {
    group.threw(0, std::make_exception_ptr(std::runtime_error("disk full")), "disk full");
    CHECK(told() == "threads: rank 1 of 3, call 1, all_reduce of 10 float: it was not done, because rank 0 "
                    "threw: disk full");
    CHECK_THROWS_WITH_AS(group.rethrow_first(), "threads: rank 0 of 3 threw: disk full", cairn::error);
  }
  SUBCASE("its rank returns") {
    group.leave(0);
    CHECK(told().find("because rank 0 gave up a call without waiting for it") != std::string::npos);
  }
  SUBCASE("its rank goes on") {
    CHECK_THROWS_WITH_AS(group.start(0, sum_of(zero)),
                         "threads: rank 0 of 3, call 2, all_reduce of 10 float: it cannot start, because rank 0 gave "
                         "up a call without waiting for it",
                         cairn::error);
    CHECK(told().find("because rank 0 gave up") != std::string::npos);
  }
  SUBCASE("nothing is heard of its rank within the deadline") {
    CHECK_NOTHROW(group.start(1, sum_of(one))); // the reason may still come
    CHECK(told().find("because rank 0 gave up") != std::string::npos);
  }
  CHECK(zero == std::vector<float>(10, 1.0F));
}

TEST_CASE("thread_group: a span that was given up is touched by nobody") {
  constexpr int ranks = 8; // makes a piece last long enough to be caught at work
  for (int round = 0; round < 20; ++round) {
    thread_group group(ranks, 10s, 16);
    std::vector<std::vector<float>> spans(ranks, std::vector<float>(500'000, 1.0F));
    for (int rank = 0; rank < ranks; ++rank) group.start(rank, sum_of(spans[static_cast<std::size_t>(rank)]));
    std::this_thread::sleep_for(std::chrono::microseconds(40 * round));
    group.drop(0, 0);
    std::fill(spans[0].begin(), spans[0].end(), -1.0F);
    std::this_thread::sleep_for(1ms);
    CHECK(std::count(spans[0].begin(), spans[0].end(), -1.0F) == 500'000);
  }
}

TEST_CASE("thread_group: giving up a call that is over does no harm") {
  thread_group group(2, 10s, 16);
  std::vector<float> zero(10, 1.0F);
  std::vector<float> one(10, 2.0F);
  const auto call = group.start(0, sum_of(zero));
  group.start(1, sum_of(one));
  group.wait(1, call);
  group.drop(0, call);
  CHECK_FALSE(group.halted());
}

TEST_CASE("thread_group: a wait for a call that was over before the failure succeeds") {
  thread_group group(2, 10s, 16);
  std::vector<float> zero(10, 1.0F);
  std::vector<float> one(10, 2.0F);
  const auto call = group.start(0, sum_of(zero));
  group.start(1, sum_of(one));
  group.wait(1, call);
  group.fail("the sky fell");
  group.fail("and then it rained");
  CHECK_NOTHROW(group.wait(0, call));
  CHECK_THROWS_WITH_AS(group.start(0, sum_of(zero)),
                       "threads: rank 0 of 2, call 2, all_reduce of 10 float: it cannot start, because the sky fell",
                       cairn::error);
}

TEST_CASE("thread_group: check tells of a call that is open for longer than the deadline") {
  std::vector<float> zero(10, 1.0F);
  thread_group group(2, 1ms, 16);
  CHECK(thrown_in_check(group, 0).empty());
  group.start(0, sum_of(zero));
  std::this_thread::sleep_for(5ms);
  CHECK_FALSE(group.halted());
  CHECK(thrown_in_check(group, 1).empty()); // rank 1 has started nothing
  CHECK_THROWS_WITH_AS(group.check(0),
                       "threads: rank 0 of 2, call 1, all_reduce of 10 float: it was not done, because call 1 was not started by "
                       "rank 1 (0 calls started) within 1 ms",
                       cairn::deadline_error);
  CHECK(thrown_in_check(group, 1) ==
        "threads: rank 1 of 2: it cannot go on, because call 1 was not started by rank 1 (0 calls started) within 1 ms");
}

TEST_CASE("thread_group: check waits for nothing, and finds nothing wrong with calls that are over or in time") {
  thread_group group(2, 10s, 4);
  std::vector<float> zero(10, 1.0F);
  std::vector<float> one(10, 2.0F);
  for (int round = 0; round < 11; ++round) { // more rounds than there are slots
    const auto call = group.start(0, sum_of(zero));
    if (round % 3 == 0) CHECK(thrown_in_check(group, 0).empty());
    group.start(1, sum_of(one));
    group.wait(0, call);
    group.wait(1, call);
  }
  CHECK(thrown_in_check(group, 0).empty());
  CHECK(thrown_in_check(group, 1).empty());
  thread_group hasty(2, 1ms, 4);
  const auto call = hasty.start(0, sum_of(zero));
  hasty.start(1, sum_of(one));
  while (!hasty.over(call)) std::this_thread::yield();
  std::this_thread::sleep_for(5ms);
  CHECK(thrown_in_check(hasty, 0).empty());
}

TEST_CASE("thread_group: check tells why the group has failed") {
  std::vector<float> zero(10, 1.0F);
  thread_group group(2, 10s, 16);
  group.start(0, sum_of(zero));
  group.drop(1, 5); // rank 1 gives something up; the reason may still come
  CHECK(thrown_in_check(group, 0).empty());
  group.threw(1, std::make_exception_ptr(1), "disk full");
  CHECK_THROWS_WITH_AS(group.check(0),
                       "threads: rank 0 of 2, call 1, all_reduce of 10 float: it was not done, because rank 1 threw: disk full",
                       cairn::rank_lost);
}

} // namespace thread_group_tests
