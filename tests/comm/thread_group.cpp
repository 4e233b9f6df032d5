// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <cairn/comm/thread_group.hpp>
#include <doctest/doctest.h>

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

} // namespace

// One thread may play all ranks as long as it does not wait for itself.
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
    group.threw(0, std::make_exception_ptr(1), "disk full");
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
