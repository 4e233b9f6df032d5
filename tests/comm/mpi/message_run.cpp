// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cairn/comm/mpi/message_run.hpp>
#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

#include "../said_on_stderr.hpp"
#include "../stopped_child.hpp"
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
      detail::run_as_rank<wire_transport>(group.engine(), body);
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
    detail::run_as_rank<wire_transport>(group.engine(), body);
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

TEST_CASE("bodies may end at different times, and each process that waits says for whom") {
  const auto child = testing::run_in_child(std::chrono::milliseconds(0), [](const auto&) {
    const auto thrown = wired_job{.ranks = 3, .options = {.deadline = std::chrono::milliseconds(50)}}.run([](wired_rank& rank) {
      if (rank.rank() == 2) testing::work_for(std::chrono::milliseconds(700));
    });
    return thrown == std::vector<std::string>(3) ? 0 : 1;
  });
  INFO(child.errors);
  CHECK(child.status == 0);
  CHECK(child.errors.find("wire: rank 0 of 3: its body has ended, and waits for that of rank 2 (") != std::string::npos);
  CHECK(child.errors.find("wire: rank 1 of 3: its body has ended, and waits for that of rank 2 (") != std::string::npos);
  CHECK(child.errors.find("rank 2 of 3: its body") == std::string::npos);
}

TEST_CASE("a body that never ends is an error on the other ranks") {
  std::atomic<bool> goes_on{false};
  std::atomic<int> ended{0};
  wire all(3);
  std::string thrown[2];
  const auto run = [&](int rank) {
    const detail::message_group<wire_transport> group(
        {.deadline = std::chrono::milliseconds(40), .max_in_flight = 16, .end_deadline = std::chrono::milliseconds(200)},
        [&, rank] { return wire_transport(all, rank); });
    auto body = [&](wired_rank&) {
      while (rank == 2 && !goes_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    try {
      detail::run_as_rank<wire_transport>(group.engine(), body);
    } catch (const deadline_error& late) {
      thrown[rank] = late.what();
    }
    if (++ended == 2) goes_on = true;
  };
  testing::said_on_stderr said;
  std::thread one([&] { run(1); }), two([&] { run(2); });
  run(0);
  one.join();
  two.join();
  CHECK(testing::lines_have(said.text(), " of 3: its body has ended, and waits for that of rank "));
  for (int rank : {0, 1})
    CHECK(thrown[rank] ==
          "wire: rank " + std::to_string(rank) +
              " of 3: its work was done, but the body of rank 2 has not ended within 200 ms after it; is it stuck, or "
              "is options::end_deadline too short?");
}

TEST_CASE("time in which the processes are stopped counts for no deadline") {
  const auto child = testing::run_in_child(std::chrono::milliseconds(1800), [](const auto& ready) {
    const auto thrown = wired_job{.ranks = 2, .options = {.deadline = std::chrono::seconds(1)}}.run([&](wired_rank& rank) {
      near_queue queue;
      std::vector<float> span(200, 1);
      rank.all_reduce(queue, std::span<float>(span)).wait(queue);
      if (rank.rank() == 1) {
        testing::work_for(std::chrono::milliseconds(20));
        ready();
        testing::work_for(std::chrono::milliseconds(300));
      }
      rank.all_reduce(queue, std::span<float>(span)).wait(queue);
    });
    for (const std::string& text : thrown) std::fprintf(stderr, "%s\n", text.c_str());
    return thrown == std::vector<std::string>(2) ? 0 : 1;
  });
  INFO(child.errors);
  CHECK(child.status == 0);
}

TEST_CASE("where one rank works alone others wait longer, and a line tells of it") {
  const auto child = testing::run_in_child(std::chrono::milliseconds(0), [](const auto&) {
    const auto run = [](std::chrono::milliseconds limit) {
      return wired_job{.ranks = 2, .options = {.deadline = std::chrono::milliseconds(50), .long_deadline = limit}}.run(
          [](wired_rank& rank) {
            near_queue queue;
            std::vector<float> span(8, 1);
            const detail::calls_for saving(rank, {.word = "save_state", .may_take_long = true});
            if (rank.rank() == 0) testing::work_for(std::chrono::milliseconds(900));
            rank.all_reduce(queue, std::span<float>(span)).wait(queue);
          });
    };
    if (run(std::chrono::minutes(1)) != std::vector<std::string>(2)) return 1;
    return run(std::chrono::milliseconds(100))[1].find("still waited for rank 0 within 100 ms") == std::string::npos ? 2 : 0;
  });
  INFO(child.errors);
  CHECK(child.status == 0);
  CHECK(child.errors.find("wire: rank 1 of 2 waits in all_reduce of 8 float (save_state): call 1 still waited for rank 0 (") !=
        std::string::npos);
}

} // namespace message_run_tests
