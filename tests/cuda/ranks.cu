// SPDX-License-Identifier: MIT
// Ranks as threads that share one GPU: their gradients go through the host.
#include <cstddef>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <doctest/doctest.h>

#include "ranks.hpp"

namespace cuda_ranks_tests {

using namespace cairn;
using testing::learnt_from_micro_batches, testing::Net, testing::told, testing::told_by, testing::training;

namespace {

template <class Model, class... Options>
using on_threads = ddp<Model, threads::rank, Options...>;

template <class Model>
void check(int ranks, const std::vector<float>& expected, const training& how = {}) {
  CAPTURE(ranks);
  for (const told& own : told_by<Model>(ranks, how)) CHECK(own.learnt == expected);
}

} // namespace

TEST_CASE("cuda, ranks: 2 and 3 ranks on one GPU are as many micro-batches, bit for bit, for policies and sizes of buckets") {
  for (const int ranks : {2, 3}) {
    const auto expected = learnt_from_micro_batches<Net>(static_cast<std::size_t>(ranks));
    check<on_threads<Net, bucket_bytes<256>>>(ranks, expected);
    check<on_threads<checkpoint<sqrt_n, Net>, bucket_bytes<1024>, after_backward>>(ranks, expected);
    check<on_threads<checkpoint<recompute_all, Net>>>(ranks, expected);
  }
}

TEST_CASE("cuda, ranks: an update inside the backward pass, and ranks with fewer samples than others") {
  const training plain{.clips = false};
  check<on_threads<fused_update<Net>, bucket_bytes<1024>>>(3, learnt_from_micro_batches<Net>(3, plain), plain);
  const training uneven{.uneven = true};
  check<on_threads<Net, bucket_bytes<256>>>(2, learnt_from_micro_batches<Net>(2, uneven), uneven);
}

TEST_CASE("cuda, ranks: with micro-batches of their own, and with the buffers of each, policies have the same bits") {
  const training several{.accumulates = true};
  const auto expected = told_by<on_threads<Net, bucket_bytes<256>>>(2, several);
  CHECK(expected[0].learnt == expected[1].learnt);
  CHECK(expected[0].buffers != expected[1].buffers); // running means of what each has seen
  CHECK(told_by<on_threads<checkpoint<recompute_all, Net>>>(2, several) == expected);
}

TEST_CASE("cuda, ranks: statistics over all ranks are as on a cpu, and the same on each") {
  const auto there = told_by<on_threads<Net, bucket_bytes<256>, sync_batch_norm>>(2);
  const auto here = told_by<on_threads<Net, bucket_bytes<256>, sync_batch_norm>, cpu>(2);
  CHECK(there[0] == there[1]);
  REQUIRE(there[0].buffers.size() == here[0].buffers.size());
  for (std::size_t i = 0; i < here[0].buffers.size(); ++i)
    CHECK(there[0].buffers[i] == doctest::Approx(here[0].buffers[i]).epsilon(1e-4));
}

} // namespace cuda_ranks_tests
