// SPDX-License-Identifier: MIT
#include <atomic>
#include <cstddef>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cairn/comm/message_run.hpp>
#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

#include "wired_ranks.hpp"

namespace message_run_tests {

using namespace cairn;
using testing::near_queue;
using testing::wire;
using testing::wire_transport;
using testing::wired_job;
using testing::wired_rank;

TEST_CASE("a job runs bodies one after another, and waits for the slowest each time") {
  wire all(3);
  std::atomic<int> inside{0}, most{0};
  const auto run = [&](int rank) {
    const detail::message_group<wire_transport> group({.deadline = std::chrono::seconds(20), .max_in_flight = 16},
                                                      [&, rank] { return wire_transport(all, rank); });
    for (int round = 0; round < 5; ++round) {
      auto body = [&](wired_rank& self) {
        near_queue queue;
        std::vector<float> span(200, 1);
        for (int call = 0; call < 3; ++call) self.all_reduce(queue, std::span<float>(span)).wait(queue);
        ++inside;
        if (rank == round % 3) std::this_thread::sleep_for(std::chrono::milliseconds(3));
        CHECK(span[0] == 27);
      };
      detail::run_as_rank<wire_transport>(group.board(), body);
      if (inside < 3 * (round + 1)) most = -1; // all bodies of the round have ended
    }
  };
  std::thread one([&] { run(1); }), two([&] { run(2); });
  run(0);
  one.join();
  two.join();
  CHECK(inside == 15);
  CHECK(most == 0);
}

TEST_CASE("an exception after the last call fails the job on all ranks, and the text is told where it was thrown") {
  const auto thrown = wired_job{.ranks = 3}.run([](wired_rank& rank) {
    near_queue queue;
    std::vector<float> span(200, 1);
    rank.all_reduce(queue, std::span<float>(span)).wait(queue);
    if (rank.rank() == 1) throw std::runtime_error("the disk is full");
  });
  CHECK(thrown[1] == "wire: rank 1 of 3 threw: the disk is full");
  CHECK(thrown[0] == "wire: rank 0 of 3: its work was done, but the job failed, because rank 1 threw");
  CHECK(thrown[2] == "wire: rank 2 of 3: its work was done, but the job failed, because rank 1 threw");
}

TEST_CASE("the exception of the body is nested in what run throws") {
  wire all(1);
  const detail::message_group<wire_transport> group({.deadline = std::chrono::seconds(20), .max_in_flight = 16},
                                                    [&] { return wire_transport(all, 0); });
  auto body = [](wired_rank&) { throw std::out_of_range("seven"); };
  bool found = false;
  try {
    detail::run_as_rank<wire_transport>(group.board(), body);
  } catch (const rank_lost& outer) {
    CHECK(std::string(outer.what()) == "wire: rank 0 of 1 threw: seven");
    try {
      std::rethrow_if_nested(outer);
    } catch (const std::out_of_range&) {
      found = true;
    }
  }
  CHECK(found);
}

TEST_CASE("two ranks that throw each say so themselves") {
  const auto thrown = wired_job{.ranks = 2}.run(
      [](wired_rank& rank) { throw std::runtime_error("rank " + std::to_string(rank.rank()) + " has no data"); });
  CHECK(thrown[0] == "wire: rank 0 of 2 threw: rank 0 has no data");
  CHECK(thrown[1] == "wire: rank 1 of 2 threw: rank 1 has no data");
}

} // namespace message_run_tests
