// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <vector>

#include <cairn/device/workers.hpp>

namespace workers_tests {

namespace {

struct counts {
  std::vector<std::atomic<int>> parts;
  std::atomic<bool> wrong_thread{false};
  std::size_t threads;

  counts(std::size_t size, std::size_t threads_) : parts(size), threads(threads_) {}

  static void count(void* self, std::size_t part, std::size_t thread) {
    auto& all = *static_cast<counts*>(self);
    ++all.parts[part];
    if (thread >= all.threads) all.wrong_thread = true;
  }
};

} // namespace

TEST_CASE("workers: every part is done once, in each of many jobs") {
  for (const std::size_t helpers : {0U, 1U, 3U}) {
    cairn::detail::workers workers(helpers);
    for (const std::size_t parts : {1U, 2U, 7U, 64U}) {
      counts seen(parts, helpers + 1);
      const int jobs = 50;
      for (int job = 0; job < jobs; ++job) workers.run(parts, counts::count, &seen);
      for (const auto& part : seen.parts) CHECK(part == jobs);
      CHECK_FALSE(seen.wrong_thread);
    }
  }
}

TEST_CASE("workers: each thread begins with its own share, and helps with those of others") {
  struct parts {
    std::atomic<std::size_t> begun{0}, done{0};
    std::vector<std::size_t> threads = std::vector<std::size_t>(6);

    // Waits until a count is reached, for ten seconds at most.
    static void wait(const std::atomic<std::size_t>& count, std::size_t wanted) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (count < wanted)
        if (std::chrono::steady_clock::now() > end) throw std::runtime_error("a part was not taken");
        else std::this_thread::yield();
    }
  };
  cairn::detail::workers workers(2);
  for (int job = 0; job < 20; ++job) {
    parts all;
    workers.run(
        3,
        [](void* self, std::size_t part, std::size_t thread) {
          parts& mine = *static_cast<parts*>(self);
          mine.threads[part] = thread;
          ++mine.begun;
          parts::wait(mine.begun, 3); // no thread can have two
        },
        &all);
    for (std::size_t part = 0; part < 3; ++part) CHECK(all.threads[part] == part);

    parts late;
    workers.run(
        6,
        [](void* self, std::size_t part, std::size_t) {
          parts& mine = *static_cast<parts*>(self);
          if (part == 4) parts::wait(mine.done, 5); // so another thread takes part 5, or this one has it already
          ++mine.done;
        },
        &late);
    CHECK(late.done == 6);
  }
}

TEST_CASE("workers: what a part wrote is seen when run is back, and after a pause too") {
  cairn::detail::workers workers(2);
  std::vector<int> written(16, 0); // no atomics: the end of a job must order these writes
  for (int job = 1; job <= 20; ++job) {
    if (job % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2)); // long enough to fall asleep
    workers.run(
        written.size(), [](void* values, std::size_t part, std::size_t) { ++(*static_cast<std::vector<int>*>(values))[part]; },
        &written);
    for (const int value : written) REQUIRE(value == job);
  }
}

TEST_CASE("workers: an exception of a part reaches the caller, and the next job runs") {
  cairn::detail::workers workers(2);
  for (int job = 0; job < 20; ++job) {
    CHECK_THROWS_WITH_AS(workers.run(
                             8,
                             [](void*, std::size_t part, std::size_t) {
                               if (part == 5) throw std::runtime_error("part 5");
                             },
                             nullptr),
                         "part 5", std::runtime_error);
    counts seen(8, 3);
    workers.run(8, counts::count, &seen);
    for (const auto& part : seen.parts) CHECK(part == 1);
  }
}

TEST_CASE("workers: many threads are started and joined without a job") {
  for (int i = 0; i < 20; ++i) cairn::detail::workers workers(4);
}

} // namespace workers_tests
