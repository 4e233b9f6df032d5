// SPDX-License-Identifier: MIT
// CTest runs these with one process, and under mpirun with several.
#include <cairn/comm/mpi/mpi.hpp>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

#include "mixed_calls.hpp"
#include "started_mpi.hpp"

namespace mpi_tests {

using namespace cairn;
using namespace std::chrono_literals;
using testing::mixed_calls;
using testing::near_queue;

namespace {

struct far_queue {
  static constexpr bool shares_memory = false;
};
static_assert(communicator<mpi::rank> && !communicator<mpi::rank, far_queue>);
static_assert(mpi::rank::name == "mpi");

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct seen_by_one {
  int rank = 0;
  std::vector<float> numbers;
};
seen_by_one over_mpi(mpi::options chosen) {
  seen_by_one out;
  mpi(chosen).run([&](mpi::rank& rank) {
    out.rank = rank.rank();
    out.numbers = mixed_calls(rank);
  });
  return out;
}

} // namespace

TEST_CASE("mpi: calls have the bits of threads, whole and in small messages, each time") {
  testing::start_mpi();
  const seen_by_one first = over_mpi({});
  std::vector<float> expected;
  threads{mpi{}.size()}.run([&](threads::rank& rank) {
    const auto seen = mixed_calls(rank);
    if (rank.rank() == first.rank) expected = seen;
  });
  CHECK(same_bits(first.numbers, expected));
  for (int repetition = 0; repetition < 20; ++repetition) CHECK(same_bits(over_mpi({}).numbers, expected));
  CHECK(same_bits(over_mpi({.message_bytes = 1000}).numbers, expected));
}

TEST_CASE("mpi: sums in any order are sums, in small messages too") {
  testing::start_mpi();
  for (const std::size_t bytes : {1_GiB, 1000_KiB, std::size_t{1000}}) {
    mpi({.sums = mpi::order::any, .message_bytes = bytes}).run([](mpi::rank& rank) {
      near_queue queue;
      for (const std::size_t count : {1U, 100U, 10'000U}) {
        std::vector<float> span(count, static_cast<float>(rank.rank() + 1));
        std::vector<double> wide(count, 2);
        auto a = rank.all_reduce(queue, std::span<float>(span));
        auto b = rank.all_reduce(queue, std::span<double>(wide));
        a.wait(queue);
        b.wait(queue);
        const auto ranks = static_cast<float>(rank.size());
        CHECK(span == std::vector<float>(count, ranks * (ranks + 1) / 2));
        CHECK(wide == std::vector<double>(count, 2.0 * ranks));
      }
    });
  }
}

#if defined(__linux__)
TEST_CASE("mpi: processes of one machine reach each other's memory") {
  testing::start_mpi();
  mpi{}.run([](mpi::rank& rank) {
    const types::lent_memory block = rank.allocate(100'000);
    CHECK(block.size() == (rank.size() == 1 ? 0 : 100'000));
  });
}
#endif

TEST_CASE("mpi: a job can be run again, and knows its place") {
  testing::start_mpi();
  const mpi job;
  for (int round = 0; round < 3; ++round) {
    int runs = 0;
    job.run([&](mpi::rank& rank) {
      ++runs;
      CHECK(rank.size() == job.size());
      CHECK(rank.local_size() <= rank.size()); // all on one machine, where each may be bound to a core of its own
      CHECK(rank.local_size() >= 1);
      CHECK(rank.local_rank() == rank.rank());
      near_queue queue;
      float one = 1;
      rank.all_reduce(queue, std::span<float>(&one, 1)).wait(queue);
      CHECK(one == static_cast<float>(rank.size()));
    });
    CHECK(runs == 1);
  }
}

TEST_CASE("mpi: an exception on the last rank fails the job everywhere, once with its text") {
  testing::start_mpi();
  const mpi job;
  std::string text;
  int self = 0;
  try {
    job.run([&](mpi::rank& rank) {
      self = rank.rank();
      near_queue queue;
      std::vector<float> span(10'000, 1);
      for (int call = 0;; ++call) {
        if (rank.rank() == rank.size() - 1 && call == 3) throw std::runtime_error("no more data");
        rank.all_reduce(queue, std::span<float>(span)).wait(queue);
      }
    });
  } catch (const rank_lost& thrown) {
    text = thrown.what();
  }
  CAPTURE(text);
  CHECK((text.find("no more data") != std::string::npos) == (self == job.size() - 1));
  CHECK(text.find("rank " + std::to_string(job.size() - 1)) != std::string::npos);
}

TEST_CASE("mpi: options that mean nothing are refused") {
  CHECK_THROWS_WITH_AS(mpi({.deadline = 0ms}), "mpi: the deadline must be 1 ms or more", input_error);
  CHECK_THROWS_WITH_AS(mpi({.max_in_flight = 0}), "mpi: max_in_flight is 0, but must be 1 or more", input_error);
  CHECK_THROWS_AS(mpi({.message_bytes = 63}), input_error);
}

} // namespace mpi_tests
