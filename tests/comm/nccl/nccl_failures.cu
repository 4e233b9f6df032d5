// SPDX-License-Identifier: MIT
// How calls of NCCL fail: each failure ends the communicator once, within the deadline, with an error that says what is known.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <latch>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "ranks_on_gpus.hpp"

namespace nccl_failures_tests {

using namespace cairn;
using namespace std::chrono_literals;
using testing::gpu_values, testing::numbers_of, testing::thrown_by, testing::with_ranks;

namespace {

constexpr nccl::options soon{.deadline = 300ms, .long_deadline = 300ms, .sums = nccl::order::fixed};

bool contains(const std::string& text, const std::string& part) {
  INFO("the text is: ", text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}
// Waits for what the queue holds, as a trainer does, until an error comes.
void wait_for_ranks(cuda::queue& queue, nccl::rank& rank) { testing::finish(queue, rank); }

// Runs ranks of which each may throw; returns the text of the error of each.
template <class Kind, class Body>
std::vector<std::string> told(int ranks, const nccl::options& how, const Body& body) {
  std::vector<std::string> texts(static_cast<std::size_t>(ranks));
  const auto run = [&] {
    with_ranks(ranks, how, [&](nccl::rank& rank, cuda::queue& queue) {
      gpu_values<float> values(queue, numbers_of<float>(rank.rank(), 1000));
      texts[static_cast<std::size_t>(rank.rank())] = thrown_by<Kind>([&] { body(rank, queue, values); });
      // Whatever was wrong, later calls say so and do not touch NCCL.
      if (texts[static_cast<std::size_t>(rank.rank())].empty()) return;
      const std::string again = thrown_by([&] { static_cast<void>(rank.all_reduce(queue, values.span())); });
      CHECK(again.find("it cannot start, because ") != std::string::npos);
      CHECK(thrown_by([&] { rank.check(); }).find("it cannot go on, because ") != std::string::npos);
      throw error(texts[static_cast<std::size_t>(rank.rank())]); // the host's communicator passes it on
    });
  };
  static_cast<void>(thrown_by(run));
  CHECK(fake::nccl().refused == 0);
  CHECK(fake::nccl().aborted + fake::nccl().destroyed == fake::nccl().joined);
  return texts;
}

} // namespace

TEST_CASE("nccl: an asynchronous error is rank_lost with the call and the step, on each rank") {
  testing::begin(2);
  const auto texts = told<rank_lost>(2, soon, [](nccl::rank& rank, cuda::queue& queue, gpu_values<float>& values) {
    rank.purpose({.word = "step", .number = 7});
    auto first = rank.all_reduce(queue, values.span());
    first.wait(queue);
    wait_for_ranks(queue, rank);
    if (rank.rank() == 0) {
      auto second = rank.all_reduce(queue, values.span());
      fake::break_nccl(0, ncclRemoteError);
      second.wait(queue);
    }
    for (;;) rank.check();
  });
  contains(texts[0],
           "nccl: rank 0 of 2, call 3, all_reduce of 1000 float (step 7, its call 2): NCCL reports remote process exited");
  CHECK(!texts[1].empty());
}

TEST_CASE("nccl: a rank that never comes is named by the host's communicator, within its deadline") {
  testing::begin(3);
  const auto begun = std::chrono::steady_clock::now();
  const auto texts = told<error>(3, soon, [](nccl::rank& rank, cuda::queue& queue, gpu_values<float>& values) {
    rank.purpose({.word = "step", .number = 2});
    if (rank.rank() == 2)
      for (;;) rank.check(); // until the host says that the others gave up
    rank.all_reduce(queue, values.span()).wait(queue);
    wait_for_ranks(queue, rank);
  });
  CHECK(std::chrono::steady_clock::now() - begun < 5s);
  for (int rank = 0; rank < 2; ++rank)
    contains(texts[static_cast<std::size_t>(rank)],
             "call 2, all_reduce of 1000 float (step 2, its call 1): it was not over within 300 ms; ");
  contains(texts[0], "was not started by rank 2");
  contains(texts[2], "was not started by rank 2");
}

TEST_CASE("nccl: without a communicator of the host a late rank is a deadline_error that says how to find it") {
  testing::begin(2);
  REQUIRE(::setenv("NCCL_COMM_ID", "localhost:29501", 1) == 0);
  std::atomic<bool> is_over{false};
  std::string text;
  threads{2}.run([&](threads::rank& host) {
    nccl::rank rank(launch{.rank = host.rank(), .size = 2, .local_rank = host.rank(), .local_size = 2}, soon);
    cuda::queue queue(rank.ordinal(), false);
    gpu_values<float> values(queue, numbers_of<float>(rank.rank(), 1000));
    if (rank.rank() == 1) {
      while (!is_over) std::this_thread::sleep_for(1ms);
      return;
    }
    text = thrown_by<deadline_error>([&] {
      rank.all_reduce(queue, values.span()).wait(queue);
      wait_for_ranks(queue, rank);
    });
    is_over = true;
  });
  ::unsetenv("NCCL_COMM_ID");
  contains(
      text,
      "nccl: rank 0 of 2, call 3, all_reduce of 1000 float: it was not over within 300 ms; which of the other ranks is late");
  CHECK(fake::nccl().aborted == 2); // that of the late rank when it could not be finalized
  CHECK(fake::nccl().refused == 0);
}

TEST_CASE("nccl: ranks that make different calls are told what differs") {
  for (const bool counts_differ : {true, false}) {
    testing::begin(3);
    const auto texts = told<input_error>(3, soon, [&](nccl::rank& rank, cuda::queue& queue, gpu_values<float>& values) {
      if (rank.rank() != 1) rank.all_reduce(queue, values.span()).wait(queue);
      else if (counts_differ) rank.all_reduce(queue, values.span().first(999)).wait(queue);
      else rank.broadcast(queue, std::as_writable_bytes(values.span()), 2).wait(queue);
      wait_for_ranks(queue, rank);
    });
    for (const std::string& text : texts)
      contains(text, std::string("the ranks make different calls: call 2 is all_reduce of 1000 float on ranks 0 and 2, but ") +
                         (counts_differ ? "all_reduce of 999 float on rank 1" : "broadcast of 4000 bytes from rank 2 on rank 1"));
  }
}

TEST_CASE("nccl: a rank that throws is the reason that all others are given, and the GPU leaves its spans") {
  testing::begin(3);
  std::vector<std::string> texts(3);
  std::latch joined(3); // a rank that is still joining when another throws is told so by its constructor
  const std::string whole = thrown_by<rank_lost>([&] {
    with_ranks(3, {.deadline = 1h, .sums = nccl::order::fixed}, [&](nccl::rank& rank, cuda::queue& queue) {
      joined.arrive_and_wait();
      gpu_values<float> values(queue, numbers_of<float>(rank.rank(), 1000));
      texts[static_cast<std::size_t>(rank.rank())] = thrown_by<rank_lost>([&] {
        auto pending = rank.all_reduce(queue, values.span());
        if (rank.rank() == 1) throw std::out_of_range("disk full"); // its ticket is dropped
        pending.wait(queue);
        rank.all_reduce(queue, values.span()).wait(queue);
        wait_for_ranks(queue, rank);
      });
    });
  });
  contains(whole, "rank 1 of 3 threw: disk full");
  contains(texts[0], "rank 1 threw: disk full");
  contains(texts[2], "rank 1 threw: disk full");
  CHECK(fake::nccl().aborted == 3);
  CHECK(fake::nccl().refused == 0);
}

TEST_CASE("nccl: two ranks on one GPU are refused, as NCCL refuses them") {
  testing::begin(2);
  std::vector<std::string> texts(2);
  static_cast<void>(thrown_by([&] {
    threads(2, {.deadline = 300ms}).run([&](threads::rank& host) {
      texts[static_cast<std::size_t>(host.rank())] = thrown_by<input_error>([&] {
        nccl::options how = soon;
        how.ordinal = 1;
        const nccl::rank rank(host, how);
      });
    });
  }));
  for (const std::string& text : texts)
    contains(text, ": NCCL reports invalid usage (Duplicate GPU detected); each rank needs a GPU of its own");
  CHECK(fake::nccl().aborted == 2);
  CHECK(fake::nccl().refused == 0);
}

TEST_CASE("nccl: ranks that would add in different orders refuse to start") {
  testing::begin(2);
  std::vector<std::string> texts(2);
  static_cast<void>(thrown_by([&] {
    threads{2}.run([&](threads::rank& host) {
      texts[static_cast<std::size_t>(host.rank())] = thrown_by<input_error>(
          [&] { const nccl::rank rank(host, {.sums = host.rank() == 0 ? nccl::order::fixed : nccl::order::nccl}); });
    });
  }));
  for (const std::string& text : texts) contains(text, "found order::fixed by NCCL ");
  contains(texts[0], " on rank 0, order::nccl by NCCL ");
  CHECK(fake::nccl().joined == 0);
}

TEST_CASE("nccl: a rank that does not join ends the others within the deadline") {
  testing::begin(2);
  std::string text;
  static_cast<void>(thrown_by([&] {
    threads(2, {.deadline = 300ms, .long_deadline = 300ms}).run([&](threads::rank& host) {
      if (host.rank() == 0) {
        text = thrown_by([&] { const nccl::rank rank(host, soon); });
        throw std::runtime_error("over");
      }
      for (;;) host.check();
    });
  }));
  contains(text, "was not started by rank 1");
  CHECK(fake::nccl().joined == 0);
}

TEST_CASE("nccl: each call of NCCL that fails ends all ranks, with its name in words") {
  struct at {
    const char* function;
    std::size_t call;
    ncclResult_t code;
  };
  for (const at& one : std::vector<at>{{"ncclGetUniqueId", 0, ncclSystemError},
                                       {"ncclCommInitRankConfig", 1, ncclUnhandledCudaError},
                                       {"ncclCommGetAsyncError", 3, ncclInternalError},
                                       {"ncclGroupEnd", 3, ncclSystemError},
                                       {"ncclSend", 2, ncclInvalidArgument},
                                       {"ncclAllGather", 5, ncclUnhandledCudaError},
                                       {"ncclBroadcast", 0, ncclRemoteError}}) {
    CAPTURE(one.function);
    testing::begin(2);
    fake::fail(one.function, one.call, one.code);
    const std::string text = thrown_by([&] {
      with_ranks(2, {.deadline = 2s, .sums = nccl::order::fixed}, [&](nccl::rank& rank, cuda::queue& queue) {
        gpu_values<float> values(queue, numbers_of<float>(rank.rank(), 1000));
        for (int step = 0; step < 4; ++step) rank.all_reduce(queue, values.span()).wait(queue);
        wait_for_ranks(queue, rank);
      });
    });
    contains(text, " threw: nccl: rank ");
    contains(text, "NCCL reports ");
    CHECK(fake::nccl().refused == 0);
    CHECK(fake::nccl().aborted >= (fake::nccl().joined > 0 ? 1 : 0));
  }
}

TEST_CASE("nccl: a rank whose GPU fails ends the others") {
  testing::begin(2);
  std::vector<std::string> texts(2);
  std::array<std::optional<gpu_values<float>>, 2> kept{}; // until the ranks are gone: the fake's streams go on after the failure
  static_cast<void>(thrown_by([&] {
    with_ranks(2, {.deadline = 2s, .sums = nccl::order::fixed}, [&](nccl::rank& rank, cuda::queue& queue) {
      auto& values = kept[static_cast<std::size_t>(rank.rank())].emplace(queue, numbers_of<float>(rank.rank(), 1000));
      std::array<std::byte, 2> all{};
      const std::byte own{};
      rank.exchange({&own, 1}, all);
      if (rank.rank() == 0) fake::fail("cudaEventQuery", 5, 700);
      try {
        for (;;) {
          rank.all_reduce(queue, values.span()).wait(queue);
          wait_for_ranks(queue, rank);
        }
      } catch (const error& thrown) {
        texts[static_cast<std::size_t>(rank.rank())] = thrown.what();
        throw;
      }
    });
  }));
  const std::size_t failed = texts[0].find(" threw: ") != std::string::npos ? 1 : 0;
  contains(texts[failed], "found error 700");
  contains(texts[1 - failed], "rank " + std::to_string(failed) + " threw: ");
  CHECK(fake::nccl().refused == 0);
}

TEST_CASE("nccl: a job that another rank does not end is aborted after the deadline") {
  testing::begin(2);
  std::atomic<bool> is_over{false};
  const auto begun = std::chrono::steady_clock::now();
  with_ranks(2, soon, [&](nccl::rank& rank, cuda::queue&) {
    if (rank.rank() == 0) return;
    while (fake::nccl().aborted == 0) std::this_thread::sleep_for(1ms); // it evaluates, while rank 0 has ended
    is_over = true;
  });
  CHECK(is_over);
  CHECK(std::chrono::steady_clock::now() - begun > 250ms);
  CHECK(std::chrono::steady_clock::now() - begun < 5s);
  CHECK(fake::nccl().aborted == 1);
  CHECK(fake::nccl().destroyed == 1);
  CHECK(fake::nccl().refused == 0);
}

TEST_CASE("nccl: the fake refuses what NCCL refuses") {
  testing::begin(2);
  ncclUniqueId id{};
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  ncclConfig_t how = NCCL_CONFIG_INITIALIZER;
  ncclComm_t comm = nullptr;
  CHECK(ncclCommInitRankConfig(&comm, 2, id, 0, &how) == ncclInvalidArgument); // it would block
  how.blocking = 0;
  REQUIRE(ncclCommInitRankConfig(&comm, 2, id, 0, &how) == ncclInProgress);
  CHECK(ncclSend(nullptr, 1, ncclFloat32, 1, comm, nullptr) == ncclInvalidArgument); // the default stream
  CHECK(ncclCommAbort(comm) == ncclSuccess);
  CHECK(ncclCommAbort(comm) == ncclInvalidArgument);
  ncclResult_t state = ncclSuccess;
  CHECK(ncclCommGetAsyncError(comm, &state) == ncclInvalidArgument);
  CHECK(fake::nccl().refused == 3);
}

} // namespace nccl_failures_tests
