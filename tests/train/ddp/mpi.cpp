// SPDX-License-Identifier: MIT
// Training over processes. CTest runs these with one process, and under mpirun with several.
#include <cairn/comm/mpi.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <cairn/comm/threads.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/trainer.hpp>

#include "../../comm/started_mpi.hpp"
#include "../../long_tests.hpp"
#include "../training.hpp"

using namespace cairn;
using testing::Net;
using testing::samples;

namespace {

constexpr int steps = 3;

// Rank r works on these samples in a step: of different numbers of rows.
samples<> samples_of(int step, int rank) {
  return samples<>(static_cast<std::size_t>(rank == 1 ? 4 : 6), static_cast<std::uint32_t>(10 * step + rank));
}

// What a rank has after each step; losses are its own.
struct trace {
  int rank = 0;
  std::vector<std::vector<float>> gradients{};
  std::vector<double> losses{}, norms{};
  std::uint64_t checksum = 0;

  template <class Trainer>
  void look_at(Trainer& t, double loss) {
    gradients.emplace_back(t.gradients().begin(), t.gradients().end());
    losses.push_back(loss);
    norms.push_back(t.gradient_norm());
    checksum = t.checksum();
  }
};

template <class Policy, class Rank, class... Options>
trace trained(Rank& rank) {
  trainer<ddp<checkpoint<Policy, Net>, Rank, Options...>, CrossEntropyLoss, SGD, batch<6>> t{
      rank, testing::momentum, {.seed = 3}};
  trace out{rank.rank()};
  for (int step = 0; step < steps; ++step) {
    const samples s = samples_of(step, rank.rank());
    const double loss = t.step(s.x, s.y);
    out.look_at(t, loss);
  }
  return out;
}

// The same samples as micro-batches of one rank, which stores everything and is alone; with the losses of one of them.
trace trained_alone(int micro_batches, int rank) {
  trainer<Net, CrossEntropyLoss, SGD, batch<6>> t{testing::momentum, {.seed = 3}};
  trace out{rank};
  for (int step = 0; step < steps; ++step) {
    double own = 0;
    for (int m = 0; m < micro_batches; ++m) {
      const samples s = samples_of(step, m);
      const double loss = m + 1 < micro_batches ? t.accumulate(s.x, s.y) : t.step(s.x, s.y);
      if (m == rank) own = loss;
    }
    out.look_at(t, own);
  }
  return out;
}

bool same(const trace& a, const trace& b) {
  bool equal = a.checksum == b.checksum && a.losses == b.losses && a.norms == b.norms && a.gradients.size() == b.gradients.size();
  for (std::size_t step = 0; equal && step < a.gradients.size(); ++step)
    equal = a.gradients[step].size() == b.gradients[step].size() &&
            std::memcmp(a.gradients[step].data(), b.gradients[step].data(), a.gradients[step].size() * sizeof(float)) == 0;
  return equal;
}

template <class Policy, class... Options>
void check(const mpi& job, int repetitions = 1) {
  trace want;
  for (int r = 0; r < repetitions; ++r) {
    trace got;
    job.run([&](mpi::rank& rank) { got = trained<Policy, mpi::rank, Options...>(rank); });
    if (r == 0) {
      want = trained_alone(job.size(), got.rank);
      threads{job.size()}.run([&](threads::rank& rank) {
        const trace beside = trained<Policy, threads::rank, Options...>(rank);
        if (rank.rank() == got.rank) CHECK(same(beside, want));
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
