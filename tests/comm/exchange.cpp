// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/comm/exchange.hpp>
#include <cairn/comm/loopback.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <doctest/doctest.h>

#include "threads/fault_injecting.hpp"

namespace exchange_tests {

using namespace cairn;
using testing::fault_injecting;
using namespace std::chrono_literals;

namespace {

struct near_queue {};
struct far_queue {
  static constexpr bool shares_memory = false;
};

// A communicator with all required members and no optional ones.
struct plain_rank {
  static constexpr std::string_view name = "plain";
  threads::rank& inner;
  int calls = 0;

  int rank() const { return inner.rank(); }
  int size() const { return inner.size(); }
  template <class T>
  auto all_reduce(near_queue& queue, std::span<T> span) {
    return inner.all_reduce(queue, span);
  }
  auto broadcast(near_queue& queue, std::span<std::byte> bytes, int root) {
    ++calls;
    return inner.broadcast(queue, bytes, root);
  }
};

static_assert(communicator<plain_rank, near_queue> && !detail::exchanges_bytes<plain_rank>);
static_assert(detail::exchanges_bytes<threads::rank> && detail::exchanges_bytes<loopback::rank>);
static_assert(detail::checks_calls<threads::rank> && detail::reserves_bytes<threads::rank>);
static_assert(!detail::exchanges_bytes<fault_injecting<plain_rank>>);
// threads sums spans in place, so its queues must share the host's memory.
static_assert(communicator<threads::rank, near_queue> && !communicator<threads::rank, far_queue>);
static_assert(communicator<loopback::rank, far_queue> && !communicator<fault_injecting<threads::rank>, far_queue>);

std::byte byte_of(int rank, std::size_t i) { return static_cast<std::byte>(37 * rank + 11 * static_cast<int>(i % 97) + 1); }

// Whether this rank receives the bytes of all ranks.
template <class Queue, class C>
bool all_arrive(C& comm, std::size_t count) {
  Queue queue;
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<std::byte> own(count), all(ranks * count), expected(ranks * count);
  for (std::size_t i = 0; i < count; ++i) own[i] = byte_of(comm.rank(), i);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (std::size_t i = 0; i < count; ++i) expected[rank * count + i] = byte_of(static_cast<int>(rank), i);
  detail::exchange(comm, queue, own, all);
  return all == expected;
}

template <class Queue, class C>
bool a_text_arrives(C& comm, std::size_t count, int root) {
  Queue queue;
  std::string text(count, static_cast<char>('a' + comm.rank()));
  detail::broadcast_on_host(comm, queue, std::as_writable_bytes(std::span{text}), root);
  return text == std::string(count, static_cast<char>('a' + root));
}

// A communicator of one rank, which must not make a call.
struct never_called {
  int rank() const { return 0; }
  int size() const { return 1; }
  void exchange(std::span<const std::byte>, std::span<std::byte>) { FAIL("a job of one rank has nothing to exchange"); }
};

} // namespace

TEST_CASE("exchange: every rank gets the bytes of every rank, on any device") {
  for (const int ranks : {1, 2, 3, 5})
    for (const std::size_t count : {0UL, 1UL, 48UL, 200'003UL}) {
      std::atomic<int> right{0};
      threads{ranks}.run([&](threads::rank& rank) {
        fault_injecting around(rank, {});
        if (all_arrive<near_queue>(rank, count) && all_arrive<far_queue>(rank, count) && all_arrive<far_queue>(around, count))
          ++right;
      });
      CHECK(right == ranks);
    }
}

TEST_CASE("exchange: without one, each rank broadcasts its bytes") {
  for (const int ranks : {1, 2, 3}) {
    std::atomic<int> right{0};
    threads{ranks}.run([&](threads::rank& rank) {
      plain_rank own{rank};
      fault_injecting around(own, {});
      if (all_arrive<near_queue>(own, 100) && own.calls == (ranks == 1 ? 0 : ranks)) ++right;
      if (all_arrive<near_queue>(around, 100)) ++right;
    });
    CHECK(right == 2 * ranks);
  }
}

TEST_CASE("exchange: values of all ranks come in their order") {
  std::atomic<int> right{0};
  threads{3}.run([&](threads::rank& rank) {
    far_queue queue;
    const auto all = detail::of_all_ranks(rank, queue, std::uint64_t{100} + static_cast<std::uint64_t>(rank.rank()));
    if (all == std::vector<std::uint64_t>{100, 101, 102}) ++right;
  });
  CHECK(right == 3);
}

TEST_CASE("exchange: bytes of the host are broadcast from any rank, in pieces where the device does not share its memory") {
  for (const std::size_t count : {0UL, 1UL, 4096UL, 10'001UL}) {
    std::atomic<int> right{0};
    threads{3}.run([&](threads::rank& rank) {
      plain_rank own{rank};
      for (const int root : {0, 2})
        if (a_text_arrives<near_queue>(rank, count, root) && a_text_arrives<far_queue>(rank, count, root) &&
            a_text_arrives<near_queue>(own, count, root))
          ++right;
    });
    CHECK(right == 6);
  }
}

TEST_CASE("exchange: a job of one rank makes no call") {
  never_called alone;
  CHECK(all_arrive<far_queue>(alone, 5));
  CHECK(a_text_arrives<far_queue>(alone, 5, 0));
  far_queue queue;
  CHECK(detail::of_all_ranks(alone, queue, 3) == std::vector<int>{3});
}

TEST_CASE("exchange: too little room is an error") {
  loopback::rank alone;
  std::vector<std::byte> own(5), all(10);
  CHECK_THROWS_WITH_AS(alone.exchange(own, all),
                       "loopback: exchange: expected room for the 5 bytes of each of 1 ranks, 5 bytes, found 10", input_error);
  threads{2}.run([&](threads::rank& rank) {
    CHECK_THROWS_WITH_AS(rank.exchange(own, std::span(all).first(5)),
                         "threads: exchange: expected room for the 5 bytes of each of 2 ranks, 10 bytes, found 5", input_error);
  });
}

TEST_CASE("exchange: what a communicator does not have is not asked for") {
  threads{1}.run([](threads::rank& rank) {
    plain_rank own{rank};
    detail::tell_check(own);
    detail::tell_reserve(own, 100);
  });
  struct asked {
    std::size_t reserved = 0;
    int checks = 0;
    void reserve(std::size_t bytes) { reserved = bytes; }
    void check() { ++checks; }
  } comm;
  fault_injecting around(comm, {});
  detail::tell_reserve(around, 100);
  detail::tell_check(around);
  CHECK(comm.reserved == 100);
  CHECK(comm.checks == 1);
}

} // namespace exchange_tests
