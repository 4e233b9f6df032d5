// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cairn/comm/mpi/message_rank.hpp>
#include <cairn/comm/mpi/message_run.hpp>
#include <cairn/comm/mpi/progress_thread.hpp>
#include <doctest/doctest.h>

#include "wired_ranks.hpp"

namespace progress_thread_tests {

using namespace cairn;
using namespace std::chrono_literals;
using testing::near_queue;
using testing::wire;
using testing::wire_transport;

namespace {

// A transport that counts how often it is polled.
struct counted : wire_transport {
  std::atomic<int>* looks = nullptr;
  counted(wire& all, int rank, std::atomic<int>& count) : wire_transport(all, rank), looks(&count) {}
  std::size_t finished(std::span<request> requests, std::span<detail::finished_request> over) {
    ++*looks;
    return wire_transport::finished(requests, over);
  }
  std::optional<detail::incoming_message> probe(int from, int tag) {
    ++*looks;
    return wire_transport::probe(from, tag);
  }
};

// A transport that receives nothing until it may, and sees no news before a call has received everything.
struct slow_reader : wire_transport {
  std::atomic<bool>* may_receive = nullptr;
  int open = 0;
  slow_reader(wire& all, int rank, std::atomic<bool>& gate) : wire_transport(all, rank), may_receive(&gate) {}

  void receive(request& r, int from, int tag, std::byte* to, std::size_t room) {
    wire_transport::receive(r, from, tag, to, room);
    if (tag != 0) ++open;
  }
  std::size_t finished(std::span<request> requests, std::span<detail::finished_request> over) {
    if (!*may_receive) return 0;
    std::vector<bool> receives;
    for (const request& one : requests) receives.push_back(one.received != nullptr);
    const std::size_t count = wire_transport::finished(requests, over);
    if (requests.size() > 1) // otherwise it is the news
      for (std::size_t i = 0; i < count; ++i)
        if (receives[over[i].index]) --open;
    return count;
  }
  std::optional<detail::incoming_message> probe(int from, int tag) {
    if (!*may_receive || (tag == 0 && open > 0)) return {};
    return wire_transport::probe(from, tag);
  }
};

} // namespace

TEST_CASE("a call is not over where the rank that sent its bytes has given them up meanwhile") {
  wire all(2);
  std::atomic<bool> may_receive{false};
  std::string told;
  std::thread first([&] { // its deadline ends, because rank 1 takes nothing
    try {
      const detail::message_group<wire_transport> group({.deadline = 100ms, .max_in_flight = 16},
                                                        [&] { return wire_transport(all, 0); });
      auto body = [&](testing::wired_rank& self) {
        near_queue queue;
        std::vector<std::byte> bytes(4096, std::byte{1});
        CHECK_THROWS_AS(self.broadcast(queue, bytes, 0).wait(queue), deadline_error);
        may_receive = true; // and the bytes are gone
      };
      detail::run_as_rank<wire_transport>(group.engine(), body);
    } catch (const error&) {
    }
  });
  try {
    const detail::message_group<slow_reader> group({.deadline = 20s, .max_in_flight = 16},
                                                   [&] { return slow_reader(all, 1, may_receive); });
    auto body = [&](detail::message_rank<slow_reader>& self) {
      near_queue queue;
      std::vector<std::byte> bytes(4096, std::byte{0});
      auto sent = self.broadcast(queue, bytes, 0);
      try {
        sent.wait(queue);
      } catch (const rank_lost& thrown) {
        told = thrown.what();
      }
      CHECK(bytes != std::vector<std::byte>(4096, std::byte{1})); // otherwise this test shows nothing
    };
    detail::run_as_rank<slow_reader>(group.engine(), body);
  } catch (const error&) {
  }
  first.join();
  INFO(told);
  CHECK(told.find("it was not done, because rank 0 failed: ") != std::string::npos);
}

TEST_CASE("the communication thread sleeps while no call is open") {
  wire all(2);
  std::atomic<int> looks{0};
  std::atomic<int> met{0}, still{0};
  const auto run = [&](int rank) {
    const detail::message_group<counted> group({.deadline = 20s, .max_in_flight = 16},
                                               [&, rank] { return counted(all, rank, looks); });
    auto body = [&](detail::message_rank<counted>& self) {
      near_queue queue;
      std::vector<float> span(1000, 1);
      self.all_reduce(queue, std::span<float>(span)).wait(queue);
      ++met;
      while (met < 2) std::this_thread::sleep_for(1ms);
      // Both threads are about to sleep; once both do, neither polls any more.
      int before = -1;
      for (int same = 0; same < 20;) {
        std::this_thread::sleep_for(1ms);
        const int now = looks.load();
        same = now == before ? same + 1 : 0;
        before = now;
      }
      ++still;
      while (still < 2) std::this_thread::sleep_for(1ms);
      self.all_reduce(queue, std::span<float>(span)).wait(queue);
      CHECK(span[0] == 4);
    };
    detail::run_as_rank<counted>(group.engine(), body);
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
  CHECK(looks > 0);
}

TEST_CASE("messages that are lost on the way are a deadline, and both ranks end") {
  for (const std::size_t count : {16U, 20'000U}) {
    wire all(2);
    std::string thrown[2];
    const auto run = [&](int rank) {
      try {
        const detail::message_group<wire_transport> group({.deadline = 200ms, .max_in_flight = 16},
                                                          [&, rank] { return wire_transport(all, rank); });
        auto body = [&](testing::wired_rank& self) {
          near_queue queue;
          std::vector<float> span(count, 1);
          self.all_reduce(queue, std::span<float>(span)).wait(queue);
          if (rank == 0) {
            const std::lock_guard lock(all.mutex);
            all.loses_all = true;
          } else {
            while ([&] {
              const std::lock_guard lock(all.mutex);
              return !all.loses_all;
            }())
              std::this_thread::sleep_for(1ms);
          }
          try {
            self.all_reduce(queue, std::span<float>(span)).wait(queue);
          } catch (...) {
            const std::lock_guard lock(all.mutex);
            all.loses_all = false; // so that the ranks can say farewell
            throw;
          }
        };
        detail::run_as_rank<wire_transport>(group.engine(), body);
      } catch (const std::exception& fault) {
        thrown[rank] = fault.what();
      }
    };
    std::thread other([&] { run(1); });
    run(0);
    other.join();
    CHECK(thrown[0].find("call 2") != std::string::npos);
    CHECK(thrown[1].find("call 2") != std::string::npos);
  }
}

TEST_CASE("where ranks have no core to spare, a sum in memory that all reach begins though no rank waits for it") {
  struct crowded : wire_transport {
    using wire_transport::wire_transport;
    int local_size() const { return 1 << 20; }
  };
  wire all(2);
  bool ended[2] = {};
  const auto run = [&](int rank) {
    const detail::message_group<crowded> group({.deadline = 20s, .max_in_flight = 16}, [&, rank] { return crowded(all, rank); });
    auto body = [&](detail::message_rank<crowded>& self) {
      near_queue queue;
      const types::lent_memory block = self.allocate(1000 * sizeof(float));
      const std::span numbers(reinterpret_cast<float*>(block.data()), 1000);
      numbers[7] = 1;
      auto sum = self.all_reduce(queue, numbers);
      while (!sum.over()) std::this_thread::sleep_for(1ms); // if it never begins, the test hangs and is stopped
      ended[rank] = sum.over();
      std::move(sum).wait(queue);
      CHECK(numbers[7] == 2);
    };
    detail::run_as_rank<crowded>(group.engine(), body);
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
  CHECK(ended[0]);
  CHECK(ended[1]);
}

} // namespace progress_thread_tests
