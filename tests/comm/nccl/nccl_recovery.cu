// SPDX-License-Identifier: MIT
// What ranks do after a failure, while a process is stopped, and where one of them works alone: as ranks of other communicators.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/comm/call_purpose.hpp>

#include "../stopped_child.hpp"
#include "ranks_on_gpus.hpp"

namespace nccl_recovery_tests {

using namespace cairn;
using namespace std::chrono_literals;
using testing::finish, testing::gpu_values, testing::numbers_of, testing::sum_in_order, testing::thrown_by, testing::with_ranks;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<float> summed(nccl::rank& rank, cuda::queue& queue, std::size_t count = 1000) {
  gpu_values<float> values(queue, numbers_of<float>(rank.rank(), count));
  rank.all_reduce(queue, values.span()).wait(queue);
  return values.read(queue, rank);
}
void meet(threads::rank& host) {
  const std::byte own{};
  std::vector<std::byte> all(static_cast<std::size_t>(host.size()));
  host.exchange({&own, 1}, all);
}

// The ways in which a call fails.
enum class fault : unsigned char { drops_its_call, starts_no_call, nccl_reports };

// A call that fails on rank 1, and on others unless it is over there before that; returns once the queue is done.
void fail(fault how, nccl::rank& rank, threads::rank& host, cuda::queue& queue) {
  gpu_values<float> values(queue, numbers_of<float>(rank.rank(), 1000));
  const std::string text = thrown_by([&] {
    if (how == fault::starts_no_call && rank.rank() == 1) throw error("no call");
    auto pending = rank.all_reduce(queue, values.span());
    if (how == fault::drops_its_call && rank.rank() == 1) throw error("given up");
    if (how == fault::nccl_reports) {
      meet(host); // all have started it
      if (rank.rank() == 1) fake::break_nccl(1, ncclRemoteError);
      if (rank.rank() != 1) throw error("given up as well");
    }
    pending.wait(queue);
    finish(queue, rank);
  });
  finish(queue); // whatever it waited for is given up
  CHECK((rank.rank() != 1 || !text.empty()));
}

} // namespace

TEST_CASE("nccl: after a failure the ranks recover together, and calls are served again") {
  for (const fault how : {fault::drops_its_call, fault::starts_no_call, fault::nccl_reports})
    for (const nccl::order sums : {nccl::order::fixed, nccl::order::nccl}) {
      CAPTURE(static_cast<int>(how));
      testing::begin(3);
      const nccl::options soon{.deadline = 200ms, .sums = sums};
      std::atomic<int> right{0};
      threads{3, {.deadline = 200ms}}.run([&](threads::rank& host) { // which is no more patient than NCCL
        nccl::rank rank(host, soon);
        cuda::queue queue(rank.ordinal(), false);
        for (int round = 0; round < 3; ++round) {
          for (int call = 0; call < round; ++call) static_cast<void>(summed(rank, queue));
          std::optional<nccl::rank::ticket> lost;
          gpu_values<float> values(queue, numbers_of<float>(rank.rank(), 10));
          if (how == fault::starts_no_call && rank.rank() != 1) lost = rank.all_reduce(queue, values.span());
          fail(how, rank, host, queue);
          rank.recover();
          rank.check();
          if (lost && !has(thrown_by<rank_lost>([&] { lost->wait(queue); }), "it was given up before the ranks recovered"))
            continue;
          const auto sum = summed(rank, queue);
          if (sums == nccl::order::fixed ? sum == sum_in_order<float>(3, 1000) : sum.size() == 1000) ++right;
        }
      });
      CHECK(right == 9);
      CHECK(fake::nccl().refused == 0);
      CHECK(fake::nccl().joined == 12);
      CHECK(fake::nccl().aborted == 9);
      CHECK(fake::nccl().destroyed == 3);
    }
}

TEST_CASE("nccl: if none has failed the ranks only meet, and calls on their way are over") {
  testing::begin(3);
  std::atomic<int> right{0};
  threads{3}.run([&](threads::rank& host) {
    nccl::rank rank(host, {});
    cuda::queue queue(rank.ordinal(), false);
    gpu_values<float> values(queue, numbers_of<float>(rank.rank(), 1000));
    auto pending = rank.all_reduce(queue, values.span());
    rank.recover();
    pending.wait(queue);
    if (values.read(queue, rank) == sum_in_order<float>(3, 1000)) ++right;
  });
  CHECK(right == 3);
  CHECK(fake::nccl().joined == 3);
  CHECK(fake::nccl().aborted == 0);
}

TEST_CASE("nccl: a call that only one rank has started is lost when the ranks recover, before it is late") {
  testing::begin(2);
  std::atomic<int> right{0};
  threads{2}.run([&](threads::rank& host) {
    nccl::rank rank(host, {});
    cuda::queue queue(rank.ordinal(), false);
    gpu_values<float> values(queue, numbers_of<float>(rank.rank(), 1000));
    std::optional<nccl::rank::ticket> lost;
    if (rank.rank() == 0) lost = rank.all_reduce(queue, values.span());
    rank.recover();
    if (lost) CHECK(thrown_by<rank_lost>([&] { lost->wait(queue); }) != "");
    if (summed(rank, queue) == sum_in_order<float>(2, 1000)) ++right;
  });
  CHECK(right == 2);
  CHECK(fake::nccl().joined == 4);
}

TEST_CASE("nccl: ranks without a communicator of the host recover as well") {
  testing::begin(2);
  REQUIRE(::setenv("NCCL_COMM_ID", "localhost:29501", 1) == 0);
  std::atomic<int> right{0};
  threads{2}.run([&](threads::rank& host) {
    nccl::rank rank(launch{.rank = host.rank(), .size = 2, .local_rank = host.rank(), .local_size = 2}, {.deadline = 200ms});
    cuda::queue queue(rank.ordinal(), false);
    for (int round = 0; round < 3; ++round) {
      fail(round == 1 ? fault::starts_no_call : fault::drops_its_call, rank, host, queue);
      rank.recover();
      if (summed(rank, queue) == sum_in_order<float>(2, 1000)) ++right;
    }
  });
  ::unsetenv("NCCL_COMM_ID");
  CHECK(right == 6);
  CHECK(fake::nccl().refused == 0);
  CHECK(fake::nccl().joined == 8);
}

TEST_CASE("nccl: a rank that does not come to recover is missed") {
  testing::begin(3);
  std::vector<std::string> texts(3);
  std::atomic<int> told{0};
  threads{3, {.deadline = 60ms, .long_deadline = 300ms}}.run([&](threads::rank& host) {
    nccl::rank rank(host, {.deadline = 60ms, .long_deadline = 300ms});
    if (rank.rank() == 2) {
      while (told < 2) std::this_thread::sleep_for(1ms);
      return;
    }
    texts[static_cast<std::size_t>(rank.rank())] = thrown_by([&] { rank.recover(); });
    ++told;
    CHECK(thrown_by([&] { rank.check(); }) != "");
  });
  for (std::size_t rank = 0; rank < 2; ++rank) {
    INFO(texts[rank]);
    CHECK(has(texts[rank], "expected all ranks to recover together, found "));
  }
  CHECK(has(texts[0] + texts[1], "of them within 300 ms"));
}

TEST_CASE("nccl: a rank that returns early fails those that count on it, and only those") {
  testing::begin(3);
  std::vector<std::string> texts(3);
  const std::string whole = thrown_by([&] {
    with_ranks(3, {.deadline = 200ms}, [&](nccl::rank& rank, cuda::queue& queue) {
      const int calls = rank.rank() == 2 ? 1 : 2;
      for (int call = 0; call < calls; ++call) {
        const std::string text = thrown_by([&] {
          if (summed(rank, queue) != sum_in_order<float>(3, 1000)) throw input_error("wrong");
        });
        texts[static_cast<std::size_t>(rank.rank())] += text;
      }
    });
  });
  CHECK(whole.empty());
  CHECK(texts[2].empty());
  for (std::size_t rank = 0; rank < 2; ++rank) {
    INFO(texts[rank]);
    CHECK(has(texts[rank], "call 3, all_reduce of 1000 float: "));
  }
  INFO(texts[0], texts[1]);
  CHECK(has(texts[0] + texts[1], "it was not over within 200 ms; ")); // on the rank that has waited longer
  CHECK(has(texts[0] + texts[1], "rank 2"));
  CHECK(fake::nccl().refused == 0);
}

TEST_CASE("nccl: time in which the process is stopped counts for no deadline") {
  testing::begin(2);
  const auto child = testing::run_in_child(1500ms, [](const auto& ready) {
    std::atomic<int> right{0};
    with_ranks(2, {.deadline = 1s, .long_deadline = 1s}, [&](nccl::rank& rank, cuda::queue& queue) {
      static_cast<void>(summed(rank, queue));
      if (rank.rank() == 1) {
        std::this_thread::sleep_for(20ms); // rank 0 waits
        ready();
        testing::work_for(300ms);
      }
      if (summed(rank, queue) == sum_in_order<float>(2, 1000)) ++right;
    });
    return right == 2 ? 0 : 1;
  });
  INFO(child.errors);
  CHECK(child.status == 0);
}

TEST_CASE("nccl: a process that is stopped while its ranks join, or while they end, is no late one") {
  testing::begin(2);
  for (const bool ends : {false, true}) {
    const auto child = testing::run_in_child(1500ms, [&](const auto& ready) {
      const nccl::options how{.deadline = 1s, .long_deadline = 1s};
      const auto is_late = [&] {
        std::this_thread::sleep_for(20ms); // rank 0 waits
        ready();
        testing::work_for(300ms);
      };
      threads{2, {.deadline = 1s, .long_deadline = 1s}}.run([&](threads::rank& host) {
        if (!ends && host.rank() == 1) is_late();
        const nccl::rank rank(host, how);
        if (ends && host.rank() == 1) is_late();
      });
      return fake::nccl().aborted == 0 && fake::nccl().destroyed == 2 ? 0 : 1;
    });
    INFO(child.errors);
    CHECK(child.status == 0);
  }
}

TEST_CASE("nccl: where one rank works alone others wait longer, and a line tells of it") {
  testing::begin(2);
  const auto child = testing::run_in_child(0ms, [](const auto&) {
    const auto run = [](std::chrono::milliseconds limit) {
      with_ranks(2, {.deadline = 50ms, .long_deadline = limit}, [&](nccl::rank& rank, cuda::queue& queue) {
        gpu_values<float> values(queue, numbers_of<float>(rank.rank(), 10));
        const cairn::detail::calls_for saving(rank, {.word = "save_state", .may_take_long = true});
        if (rank.rank() == 0) testing::work_for(700ms);
        rank.all_reduce(queue, values.span()).wait(queue);
        static_cast<void>(values.read(queue, rank));
      });
    };
    run(1min);
    return has(thrown_by([&] { run(100ms); }), "it was not over within 100 ms") ? 0 : 1;
  });
  INFO(child.errors);
  CHECK(child.status == 0);
  CHECK(has(child.errors, "nccl: rank 1 of 2 waits for other ranks in all_reduce of 10 float (save_state) ("));
  CHECK(has(child.errors, " so far, at most 60 s)\n"));
}

} // namespace nccl_recovery_tests
