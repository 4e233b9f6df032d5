// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <chrono>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/comm/through_host.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/device.hpp>
#include <doctest/doctest.h>

namespace through_host_tests {

using namespace cairn;

namespace {

// A device with one queue, which does one piece of its work each time that it is asked whether an event is reached.
struct late {
  using memory = cpu::memory;
  using host_memory = cpu::memory;
  struct event {
    std::size_t place = 0;
  };
  struct queue {
    static constexpr bool shares_memory = false, works_while_asked = true;
    std::deque<std::function<void()>> waiting{};
    std::size_t put = 0;

    event record() { return {put}; }
    void wait(const event&) {}
    bool reached(const event& e) {
      if (put - waiting.size() >= e.place) return true;
      waiting.front()();
      waiting.pop_front();
      return false;
    }
    void finish() {
      while (!reached(record())) continue;
    }
  };
  explicit late(const types::device_options& = {}) {}
  queue& compute() { return line; }
  queue& transfers() { return line; }
  memory allocate(std::size_t bytes) { return memory(bytes); }
  host_memory staging(std::size_t bytes) { return memory(bytes); }
  queue line{};
};
void copy_later(late::queue& q, std::size_t count, std::byte* to, const std::byte* from) {
  ++q.put;
  q.waiting.emplace_back([=] { std::memcpy(to, from, count); });
}
void upload(late::queue& q, std::size_t count, std::byte* to, const std::byte* from) { copy_later(q, count, to, from); }
void download(late::queue& q, std::size_t count, std::byte* to, const std::byte* from) { copy_later(q, count, to, from); }
static_assert(device<late>);

using through = detail::through_host<threads::rank, late>;
static_assert(communicator<through, late::queue> && !communicator<threads::rank, late::queue>);
constexpr std::chrono::milliseconds long_enough{60'000};

} // namespace

TEST_CASE("through_host: calls that are on their way at a time, waited for in any order, round after round") {
  threads{3}.run([](threads::rank& rank) {
    late far;
    through comm(far, rank, 3, 200 * sizeof(double), long_enough);
    bool right = comm.rank() == rank.rank() && comm.size() == 3;
    for (int round = 0; round < 4; ++round) {
      std::vector<float> a(50), sums(50);
      std::vector<double> b(60);
      std::vector<std::byte> c(70, static_cast<std::byte>(rank.rank()));
      for (std::size_t i = 0; i < a.size(); ++i) {
        const auto share = [&](int r) { return 0.1F * static_cast<float>(i) + 1e-3F * static_cast<float>(r + round); };
        a[i] = share(rank.rank());
        sums[i] = (share(0) + share(1)) + share(2); // in the order of the ranks
      }
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i) + rank.rank();
      auto first = comm.all_reduce(far.compute(), std::span<float>(a));
      auto second = comm.all_reduce(far.compute(), std::span<double>(b));
      auto third = comm.broadcast(far.compute(), std::span<std::byte>(c), 2);
      second.wait(far.compute());
      third.wait(far.compute());
      first.wait(far.compute());
      right = right && first.over();
      first.wait(far.compute()); // an empty ticket
      far.compute().finish();
      right = right && a == sums && c == std::vector<std::byte>(70, std::byte{2});
      for (std::size_t i = 0; i < b.size(); ++i) right = right && b[i] == 3 * static_cast<double>(i) + 3;
    }
    if (!right) throw error("other sums");
  });
}

TEST_CASE("through_host: more than there is room for is refused, and after a call that was given up all recover") {
  threads{2}.run([](threads::rank& rank) {
    late far;
    through comm(far, rank, 1, 100 * sizeof(float), long_enough);
    std::vector<float> few(100, 1.0F), many(1000, 1.0F);
    CHECK_THROWS_AS(static_cast<void>(comm.all_reduce(far.compute(), std::span<float>(many))), input_error);
    try {
      const auto unwaited = comm.all_reduce(far.compute(), std::span<float>(few));
      throw error("something else");
    } catch (const error&) {
    }
    CHECK_THROWS_AS(comm.all_reduce(far.compute(), std::span<float>(few)).wait(far.compute()), rank_lost);
    comm.recover();
    few.assign(100, 1.0F);
    comm.all_reduce(far.compute(), std::span<float>(few)).wait(far.compute());
    far.compute().finish();
    CHECK(few == std::vector<float>(100, 2.0F));
  });
}

} // namespace through_host_tests
