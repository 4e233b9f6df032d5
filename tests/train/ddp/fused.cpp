// SPDX-License-Identifier: MIT
// under the thread sanitizer
// long to compile
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/optimizers/adam.hpp>
#include <cairn/train/trainer.hpp>

#include "../../comm/threads/fault_injecting.hpp"
#include "../order.hpp"
#include "../training.hpp"
#include "../used_up.hpp"

namespace ddp_fused_tests {

using namespace cairn;
using testing::fault_injecting, testing::injected_fault;
using testing::has;
using testing::Net;
using testing::samples;
using testing::text_of;

namespace {

constexpr int steps = 3;

// The results of a job on a rank: its losses, and checksums of the parameters and of the optimizer's last state.
struct trace {
  std::vector<double> losses;
  std::uint64_t parameters = 0, state = 0;
  bool operator==(const trace&) const = default;
};

template <class Replica, class Optimizer>
std::vector<trace> run(int ranks, const Optimizer& optimizer) {
  std::vector<trace> out(static_cast<std::size_t>(ranks));
  threads{ranks}.run([&](threads::rank& rank) {
    trainer<Replica, CrossEntropyLoss, Optimizer, batch<6>> t{rank, optimizer, {.seed = 3}};
    if (decltype(t)::fused)
      t.on_discard({[](void*, std::byte* first, std::size_t count) { std::memset(first, 0xFF, count); }, nullptr});
    trace& mine = out[static_cast<std::size_t>(rank.rank())];
    for (int step = 0; step < steps; ++step) {
      const samples s(rank.rank() == 1 ? 4 : 6, static_cast<std::uint32_t>(10 * step + rank.rank()));
      mine.losses.push_back(t.step(s.x, s.y));
    }
    mine.parameters = t.checksum();
    mine.state = detail::checksum(std::as_bytes(t.optimizer_state(optimizer.states() - 1)));
  });
  return out;
}

template <class Policy, class... Options, class Optimizer>
void check(const Optimizer& optimizer) {
  for (int ranks = 1; ranks <= 3; ++ranks) {
    CAPTURE(ranks);
    const auto want = run<ddp<checkpoint<Policy, Net>, threads::rank>>(ranks, optimizer);
    const auto got = run<ddp<fused_update<checkpoint<Policy, Net>>, threads::rank, Options...>>(ranks, optimizer);
    CHECK(got == want);
    CHECK(got.front().parameters == got.back().parameters);
  }
}

} // namespace

TEST_CASE("ddp: a fused update has the bits of the ordinary one, a bucket for each layer") {
  check<recompute_all, bucket_bytes<1>>(Adam{.learning_rate = 0.01});
#ifdef CAIRN_LONG_TESTS
  check<store_all, bucket_bytes<1>>(testing::momentum);
  check<sqrt_n, bucket_bytes<1>>(testing::momentum);
#endif
}
TEST_CASE("ddp: a fused update has the bits of the ordinary one, a few buckets") {
  check<sqrt_n, overlapped, bucket_bytes<2500>>(testing::momentum);
#ifdef CAIRN_LONG_TESTS
  check<store_all, bucket_bytes<2500>>(Adam{.learning_rate = 0.01});
  check<recompute_all, bucket_bytes<1300>>(testing::momentum);
#endif
}
TEST_CASE("ddp: a fused update has the bits of the ordinary one, one bucket") {
  check<store_all>(testing::momentum);
#ifdef CAIRN_LONG_TESTS
  check<sqrt_n>(testing::momentum);
#endif
}

TEST_CASE("ddp: a fused update leaves nothing to be read after it") {
  const auto states = []<class Replica>(Replica*) {
    std::vector<std::uint64_t> out(2);
    threads{2}.run([&](threads::rank& rank) {
      trainer<Replica, CrossEntropyLoss, testing::used_up, batch<6>> t{rank, {}, {.seed = 3}};
      const samples s(6, static_cast<std::uint32_t>(rank.rank()));
      t.step(s.x, s.y);
      out[static_cast<std::size_t>(rank.rank())] = detail::checksum(std::as_bytes(t.optimizer_state(0)));
    });
    return out;
  };
  const auto want = states(static_cast<ddp<Net, threads::rank>*>(nullptr));
  CHECK(states(static_cast<ddp<fused_update<Net>, threads::rank, bucket_bytes<1>>*>(nullptr)) == want);
  CHECK(states(static_cast<ddp<fused_update<checkpoint<recompute_all, Net>>, threads::rank, bucket_bytes<1>>*>(nullptr)) == want);
  CHECK(states(static_cast<ddp<fused_update<checkpoint<sqrt_n, Net>>, threads::rank, bucket_bytes<2000>>*>(nullptr)) == want);
}

TEST_CASE("ddp: a fused update uses a bucket when the next one has left, so that two are in memory") {
  using fused_trainer = trainer<ddp<fused_update<Net>, recording::communicator<recording::forgets::nothing>, bucket_bytes<2000>>,
                                CrossEntropyLoss, SGD, batch<6>, float, recording::device>;
  fused_trainer::communicator_type comm;
  fused_trainer t{comm, testing::momentum, {.seed = 3}};
  const samples s(6, 1);
  t.step(s.x, s.y);
  std::string order, expected;
  std::vector<recording::range> sums;
  for (const recording::entry& e : t.device().log().entries) {
    if (e.name == "all_reduce") sums.push_back(e.ranges[0]);
    if (e.name == "all_reduce") order += 'r';
    if (e.name == "sgd") order += 'u';
  }
  const std::size_t buckets = fused_trainer::buckets.size();
  REQUIRE(buckets > 3);
  expected = "rr"; // the facts of the step, and the first bucket
  for (std::size_t b = 1; b < buckets; ++b) expected += "ru";
  CHECK(order == expected + "u");
  sums.erase(sums.begin());
  REQUIRE(sums.size() == buckets);
  for (std::size_t b = 1; b < buckets; ++b) // neighbours: one is computed while the other is in flight
    CHECK((sums[b].end <= sums[b - 1].begin || sums[b - 1].end <= sums[b].begin));
}

TEST_CASE("ddp: ranks with a fused update and ranks without refuse to start") {
  const auto meeting = []<class First, class Second>(First*, Second*) {
    return text_of([] {
      threads{2}.run([](threads::rank& rank) {
        if (rank.rank() == 0) trainer<First, CrossEntropyLoss, SGD, batch<6>>{rank, SGD{}, {.seed = 1}};
        else trainer<Second, CrossEntropyLoss, SGD, batch<6>>{rank, SGD{}, {.seed = 1}};
      });
    });
  };
  using fused = ddp<fused_update<Net>, threads::rank>;
  const auto same = [&]<class A, class B>() { return meeting(static_cast<A*>(nullptr), static_cast<B*>(nullptr)); };
  CHECK(same.operator()<fused, fused>() == "");
  // One bucket on both sides.
  const std::string text = same.operator()<fused, ddp<Net, threads::rank>>();
  CHECK(has(text, "would make different steps"));
  CHECK(has(text, "fused_update"));
  // One rank cuts buckets between layers, the other between tensors.
  CHECK(has(same.operator()<ddp<fused_update<Net>, threads::rank, bucket_bytes<1>>, ddp<Net, threads::rank, bucket_bytes<1>>>(),
            "the same gradient buckets on every rank"));
}

TEST_CASE("ddp: a rank that fails inside a fused update ends the job with its message, in time") {
  for (const auto what : {injected_fault::kind::fails_to_start, injected_fault::kind::fails_in_wait}) {
    int reached = 0;
    const std::string text = text_of([&] {
      // With an hour's deadline, a rank that waits for it exceeds the test's time limit.
      threads{3, {.deadline = std::chrono::hours(1)}}.run([&](threads::rank& rank) {
        // Calls 0 to 2 are those of the handshake: this is the third bucket of the second step.
        fault_injecting faulty(rank, rank.rank() == 1 ? injected_fault{what, 3 + 15 + 2} : injected_fault{});
        trainer<ddp<fused_update<Net>, decltype(faulty), bucket_bytes<1>>, CrossEntropyLoss, SGD, batch<6>> t{
            faulty, testing::momentum, {.seed = 1}};
        const samples s(6, 1);
        for (int step = 0; step < 4; ++step) {
          t.step(s.x, s.y);
          if (rank.rank() == 1) ++reached;
        }
      });
    });
    CHECK(has(text, "as was asked for"));
    CHECK(has(text, "rank 1"));
    CHECK(reached >= 1);
    CHECK(reached < 4);
  }
}

} // namespace ddp_fused_tests
