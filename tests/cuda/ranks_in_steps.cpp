// SPDX-License-Identifier: MIT
// Tests of what ranks on a GPU do at the same time, and of how they fail. They run on the fake runtime.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <doctest/doctest.h>

#include "fake/fake.hpp"
#include "ranks.hpp"

namespace cuda_ranks_in_steps_tests {

using namespace cairn;
using testing::Net;
template <class... Options>
using ranked = testing::trainer_of<ddp<Net, threads::rank, bucket_bytes<1024>, Options...>, cuda>;

namespace {

// Returns when both ranks have called it.
void meet(threads::rank& rank) {
  const std::byte own{};
  std::vector<std::byte> all(2);
  rank.exchange({&own, 1}, all);
}

// Returns the nanoseconds of the runtime's clock that a step takes: the shortest of several steps, as it is a matter of luck when
// the host sees that something is over.
template <class Trainer>
std::uint64_t time_of_step() {
  std::uint64_t shortest = ~std::uint64_t{0};
  fake::reset();
  threads{2}.run([&](threads::rank& rank) {
    Trainer t{rank, AdamW{}, {.seed = 5, .ordinal = 0, .check_every = 0}};
    const testing::samples s(testing::most_rows, static_cast<std::uint64_t>(rank.rank()));
    for (int step = 0; step < 8; ++step) {
      t.wait();
      meet(rank);
      if (rank.rank() == 0) fake::reset();
      meet(rank);
      t.step(s.x, s.y);
      t.wait();
      meet(rank);
      if (rank.rank() == 0) shortest = std::min(shortest, fake::clock());
    }
  });
  return shortest;
}

} // namespace

TEST_CASE("cuda, ranks: buckets are downloaded while backward goes on") {
  using overlapping = ranked<>;
  const auto overlapped = time_of_step<overlapping>(), after = time_of_step<ranked<after_backward>>();
  std::uint64_t hidden = 0; // nothing of the last bucket is hidden
  for (std::size_t b = 0; b + 1 < overlapping::buckets.size(); ++b)
    hidden += fake::time_of_copy(overlapping::buckets[b].size() * sizeof(float));
  REQUIRE(overlapping::buckets.size() > 2);
  CHECK(overlapped + hidden / 2 < after);
}

TEST_CASE("cuda, ranks: a rank whose GPU fails in a step ends the others, with what it said") {
  struct at {
    std::string function;
    std::size_t call;
    bool graphs = false;
  };
  for (const at& failed_call : std::vector<at>{{"cudaLaunchKernelExC", 3},
                                               {"cudaLaunchKernelExC", 60},
                                               {"cudaMemcpyAsync", 2},
                                               {"cudaMemcpyAsync", 9},
                                               {"cudaStreamWaitEvent", 4},
                                               {"cudaEventRecord", 5},
                                               {"cudaEventQuery", 3},
                                               {"cudaEventQuery", 30},
                                               {"cublasLtMatmul", 7},
                                               {"cudaGraphLaunch", 5, true},
                                               {"cudaEventQuery", 30, true}}) {
    CAPTURE(failed_call.function);
    CAPTURE(failed_call.call);
    fake::reset();
    std::vector<std::string> texts(2);
    CHECK_THROWS_AS(threads{2}.run([&](threads::rank& rank) {
      ranked<> t{rank, AdamW{}, {.seed = 5, .ordinal = 0, .graphs = failed_call.graphs}};
      const testing::samples s(testing::most_rows, 1);
      static_cast<void>(double{t.step(s.x, s.y)});
      meet(rank);
      if (rank.rank() == 0) fake::fail(failed_call.function, failed_call.call, 700);
      try {
        for (int step = 0; step < 100; ++step) t.step(s.x, s.y);
      } catch (const error& e) {
        texts[static_cast<std::size_t>(rank.rank())] = e.what();
        throw;
      }
    }),
                    rank_lost);
    CAPTURE(texts[0]);
    CAPTURE(texts[1]);
    const std::size_t failed = texts[0].find(" threw: ") != std::string::npos ? 1 : 0;
    CHECK(texts[failed].find("cuda, ") != std::string::npos);
    CHECK(texts[failed].find(" 700, ") != std::string::npos);
    CHECK(texts[1 - failed].find("rank " + std::to_string(failed) + " threw: ") != std::string::npos);
    CHECK(texts[1 - failed].find(texts[failed]) != std::string::npos);
  }
  fake::reset();
}

TEST_CASE("cuda, ranks: a rank that is late ends the others within the deadline") {
  fake::reset();
  std::string text;
  CHECK_THROWS_AS(threads(2, {.deadline = std::chrono::milliseconds(200)}).run([&](threads::rank& rank) {
    ranked<> t{rank, AdamW{}, {.seed = 5, .ordinal = 0}};
    const testing::samples s(testing::most_rows, 1);
    if (rank.rank() == 0) {
      try {
        t.step(s.x, s.y);
      } catch (const deadline_error& late) {
        text = late.what();
        throw;
      }
    } else {
      for (;;) rank.check(); // until it throws because of the other rank
    }
  }),
                  rank_lost);
  CHECK(text.find("was not started by rank 1") != std::string::npos);
}

} // namespace cuda_ranks_in_steps_tests
