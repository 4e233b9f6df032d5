// SPDX-License-Identifier: MIT
// Training over processes. CTest runs these tests with one process, and with several under mpirun.
#include <cairn/comm/mpi/mpi.hpp>

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/trainer.hpp>

#include "../../comm/mpi/started_mpi.hpp"
#include "../../data/allocations.hpp"
#include "../../long_tests.hpp"
#include "../training.hpp"
#include "traces.hpp"

namespace ddp_mpi_tests {

using namespace cairn;
using testing::Net;
using testing::run_alone;
using testing::same_bits;
using testing::samples;
using testing::samples_of;
using testing::steps;
using testing::trace;

namespace {

template <class Policy, class Rank, class... Options>
trace trained(Rank& rank) {
  trainer<ddp<checkpoint<Policy, Net>, Rank, Options...>, CrossEntropyLoss, SGD, batch<6>> t{
      rank, testing::momentum, {.seed = 3}};
  trace out;
  for (int step = 0; step < steps; ++step) {
    const samples s = samples_of(step, rank.rank());
    const double loss = t.step(s.x, s.y);
    out.look_at(t, loss);
  }
  return out;
}

bool same(const trace& a, const trace& b) {
  bool equal = a.checksum == b.checksum && a.losses == b.losses && a.norms == b.norms && a.gradients.size() == b.gradients.size();
  for (std::size_t step = 0; equal && step < a.gradients.size(); ++step) equal = same_bits(a.gradients[step], b.gradients[step]);
  return equal;
}

template <class Policy, class... Options>
void check(const mpi& job, int repetitions = 1) {
  trace want;
  for (int r = 0; r < repetitions; ++r) {
    trace got;
    int own = 0;
    job.run([&](mpi::rank& rank) {
      own = rank.rank();
      got = trained<Policy, mpi::rank, Options...>(rank);
    });
    if (r == 0) {
      want = run_alone(job.size(), {}, own);
      threads{job.size()}.run([&](threads::rank& rank) {
        const trace beside = trained<Policy, threads::rank, Options...>(rank);
        if (rank.rank() == own) CHECK(same(beside, want));
      });
    }
    CHECK(same(got, want));
  }
}
template <std::size_t Bytes>
void check_buckets(const mpi& job) {
  check<sqrt_n, bucket_bytes<Bytes>>(job);
  if constexpr (testing::long_tests || Bytes == 2500) {
    check<store_all, bucket_bytes<Bytes>>(job);
    check<recompute_all, bucket_bytes<Bytes>>(job);
    check<every<2>, bucket_bytes<Bytes>>(job);
    check<at<1, 3>, bucket_bytes<Bytes>>(job);
  }
}

} // namespace

TEST_CASE("ddp: N processes are N threads and N micro-batches, bit for bit, under every policy and bucket size") {
  testing::start_mpi();
  const mpi job;
  check_buckets<1>(job);
  check_buckets<2500>(job);
  check_buckets<(1U << 20)>(job);
  check<store_all, after_backward, bucket_bytes<1>>(job);
}

TEST_CASE("ddp: 20 repetitions over processes are equal") {
  testing::start_mpi();
  const mpi job;
  check<sqrt_n, bucket_bytes<2500>>(job, 20);
}

TEST_CASE("ddp: a step over processes allocates nothing, from the first one on") {
  testing::start_mpi();
  mpi{}.run([](mpi::rank& rank) {
    trainer<ddp<checkpoint<sqrt_n, Net>, mpi::rank, bucket_bytes<2500>>, CrossEntropyLoss, SGD, batch<6>> t{
        rank, testing::momentum, {.seed = 3, .threads = 1}};
    const samples s = samples_of(0, rank.rank());
    const std::size_t before = testing::allocations;
    for (int step = 0; step < 4; ++step) t.step(s.x, s.y);
    CHECK(testing::allocations == before);
  });
}

TEST_CASE("sync_batch_norm: N processes have the bits of N threads, and a step allocates nothing") {
  testing::start_mpi();
  const mpi job;
  using Normed = Sequential<Linear<testing::features, 8>, BatchNorm1d<8>, Linear<8, testing::classes>>;
  const auto run = []<class Rank>(Rank& rank) {
    trainer<ddp<Normed, Rank, sync_batch_norm, bucket_bytes<1>>, CrossEntropyLoss, SGD, batch<6>> t{
        rank, testing::momentum, {.seed = 3, .threads = 1}};
    trace out;
    const samples s = samples_of(0, rank.rank());
    for (int step = 0; step < steps; ++step) {
      const std::size_t before = testing::allocations;
      const double loss = t.step(s.x, s.y);
      if constexpr (std::is_same_v<Rank, mpi::rank>) CHECK(testing::allocations == before);
      out.look_at(t, loss);
    }
    return out;
  };
  trace got, want;
  int own = 0;
  job.run([&](mpi::rank& rank) {
    own = rank.rank();
    got = run(rank);
  });
  threads{job.size()}.run([&](threads::rank& rank) {
    const trace beside = run(rank);
    if (rank.rank() == own) want = beside;
  });
  CHECK(same(got, want));
}

} // namespace ddp_mpi_tests
