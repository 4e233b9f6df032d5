// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <vector>

#include <cairn/data/prefetch.hpp>

namespace prefetch_tests {

using namespace cairn;
using namespace std::chrono_literals;

TEST_CASE("a prefetcher hands things over in order and never fills a slot that is held") {
  for (const std::size_t ahead : {0U, 1U, 2U, 5U}) {
    std::vector<std::size_t> slots(ahead + 1);
    detail::prefetcher made(ahead, 10s, [&](std::size_t slot, std::size_t index, const auto&) { slots[slot] = 100 + index; });
    CHECK(made.slots() == ahead + 1);
    made.start(50);
    for (std::size_t index = 0; index < 50; ++index) {
      const std::size_t slot = made.next();
      CHECK(slots[slot] == 100 + index);
      if (index % 10 == 0) std::this_thread::sleep_for(1ms); // time for the thread to reach a held slot
      CHECK(slots[slot] == 100 + index);
    }
  }
}

TEST_CASE("a prefetcher goes no further ahead than it may") {
  std::atomic<std::size_t> made{0};
  detail::prefetcher three(3, 10s, [&](std::size_t, std::size_t, const auto&) { ++made; });
  three.start(1000);
  three.next();
  std::this_thread::sleep_for(20ms);
  CHECK(made.load() <= 4); // the one that is held, and three ahead
  three.next();
  std::this_thread::sleep_for(20ms);
  CHECK(made.load() <= 5);
  CHECK(made.load() >= 2);
}

TEST_CASE("what making threw comes out in its turn") {
  for (const std::size_t ahead : {0U, 2U}) {
    detail::prefetcher made(ahead, 10s, [](std::size_t, std::size_t index, const auto&) {
      if (index == 3) throw std::runtime_error("number three");
    });
    made.start(10);
    for (int i = 0; i < 3; ++i) CHECK_NOTHROW(made.next());
    CHECK_THROWS_WITH_AS(made.next(), "number three", std::runtime_error);
    made.cancel();
    made.start(2); // it can be started again
    CHECK_NOTHROW(made.next());
    CHECK_NOTHROW(made.next());
  }
}

TEST_CASE("cancel waits until the thread touches nothing") {
  std::atomic<bool> inside{false};
  detail::prefetcher slow(1, 10s, [&](std::size_t, std::size_t, const std::atomic<bool>& cancelled) {
    inside = true;
    while (!cancelled) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(5ms);
    inside = false;
  });
  slow.start(5);
  while (!inside) std::this_thread::sleep_for(1ms);
  slow.cancel();
  CHECK_FALSE(inside.load());
}

TEST_CASE("several threads each make another item at the same time, and they come out in order") {
  std::atomic<std::size_t> inside{0};
  std::vector<std::size_t> slots(4);
  detail::prefetcher made(
      3, 10s,
      [&](std::size_t slot, std::size_t index, const std::atomic<bool>& cancelled) {
        ++inside;
        if (index < 3) // which ends only if three are made at once; the first one ends last
          while (inside.load() < (index == 0 ? 4U : 3U) && !cancelled) std::this_thread::yield();
        slots[slot] = 100 + index;
      },
      3);
  for (int pass = 0; pass < 3; ++pass) {
    inside = 0;
    made.start(40);
    for (std::size_t index = 0; index < 40; ++index) {
      const std::size_t slot = made.next();
      CHECK(slots[slot] == 100 + index);
      if (index % 10 == 0) std::this_thread::sleep_for(1ms); // time for the threads to reach a held slot
      CHECK(slots[slot] == 100 + index);
    }
    made.cancel();
  }
}

TEST_CASE("of several threads the first failure in the order is told, after all items before it") {
  std::atomic<bool> later_failed{false};
  detail::prefetcher made(
      4, 10s,
      [&](std::size_t, std::size_t index, const std::atomic<bool>& cancelled) {
        if (index == 4) {
          later_failed = true;
          throw std::runtime_error("number four");
        }
        if (index != 3) return;
        while (!later_failed && !cancelled) std::this_thread::yield();
        std::this_thread::sleep_for(2ms); // so that number four is known
        throw std::runtime_error("number three");
      },
      2);
  for (int pass = 0; pass < 3; ++pass) {
    later_failed = false;
    made.start(10);
    for (int i = 0; i < 3; ++i) CHECK_NOTHROW(made.next());
    CHECK_THROWS_WITH_AS(made.next(), "number three", std::runtime_error);
    made.cancel();
  }
}

TEST_CASE("cancel waits for each of several threads") {
  std::atomic<int> inside{0};
  detail::prefetcher slow(
      3, 10s,
      [&](std::size_t, std::size_t, const std::atomic<bool>& cancelled) {
        ++inside;
        while (!cancelled) std::this_thread::sleep_for(1ms);
        std::this_thread::sleep_for(5ms);
        --inside;
      },
      3);
  slow.start(5);
  while (inside < 3) std::this_thread::sleep_for(1ms);
  slow.cancel();
  CHECK(inside.load() == 0);
}

TEST_CASE("a wait for a thing that never comes ends at the deadline") {
  detail::prefetcher stuck(1, 30ms, [](std::size_t, std::size_t, const std::atomic<bool>& cancelled) {
    while (!cancelled) std::this_thread::sleep_for(1ms);
  });
  stuck.start(5);
  CHECK_THROWS_WITH_AS(stuck.next(), doctest::Contains("waited for a batch longer than the deadline of 30 ms"), deadline_error);
}

TEST_CASE("the longest deadline there is waits for a thing that takes its time") {
  detail::prefetcher slow(1, std::chrono::milliseconds::max(),
                          [](std::size_t, std::size_t, const auto&) { std::this_thread::sleep_for(20ms); });
  slow.start(3);
  for (int i = 0; i < 2; ++i) CHECK_NOTHROW(slow.next());
  CHECK_NOTHROW(slow.cancel());
}

TEST_CASE("a prefetcher can be destroyed at any moment") {
  for (int round = 0; round < 200; ++round) {
    detail::prefetcher made(2, 10s, [](std::size_t, std::size_t, const auto&) {}, round < 100 ? 1 : 2);
    if (round % 4 != 0) made.start(100);
    for (int i = 0; i < round % 4 * 3; ++i) made.next();
  }
}

} // namespace prefetch_tests
