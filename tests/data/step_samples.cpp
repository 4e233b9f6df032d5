// SPDX-License-Identifier: MIT
#include <cairn/data/step_samples.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <cairn/data/distributed_sampler.hpp>
#include <doctest/doctest.h>

namespace step_samples_tests {

using namespace cairn;
using detail::rank_steps;
using detail::share_of_steps;

namespace {

// Returns the sum of the shares of all ranks of a job, whose samplers divide the samples.
std::uint64_t job(std::size_t ranks, std::size_t micro_batches, std::size_t rows, std::size_t samples,
                  types::sampler_options options = {}, bool drop_last = false, std::uint64_t facts = 7) {
  std::uint64_t sum = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::vector<std::size_t> order;
    distributed_sampler(rank, ranks, 0, options).order(samples, 3, order);
    sum += share_of_steps({order, rows, drop_last, micro_batches, ranks}, facts);
  }
  return sum;
}

} // namespace

TEST_CASE("step_samples: ranks and micro-batches may be exchanged where steps see the same") {
  for (const std::size_t samples : {48UL, 96UL}) {
    CHECK(job(4, 1, 4, samples) == job(1, 4, 4, samples));
    CHECK(job(4, 1, 4, samples) == job(2, 2, 4, samples));
  }
  CHECK(job(4, 1, 4, 44) == job(1, 4, 4, 44)); // the last step: four batches of three, or three of four
  CHECK(job(4, 1, 4, 44) != job(2, 2, 4, 44)); // the last step: two of four and two of two
  // With 40 samples, the last step has one micro-batch on each of two ranks, or two on a single rank.
  CHECK(job(2, 2, 4, 40) == job(1, 4, 4, 40));
}

TEST_CASE("step_samples: whatever changes what a step sees changes the number") {
  const std::uint64_t own = job(4, 1, 4, 48);
  CHECK(job(4, 1, 4, 48) == own);
  CHECK(job(1, 2, 4, 48) != own);              // other steps
  CHECK(job(1, 4, 8, 48) != own);              // other batches
  CHECK(job(1, 4, 4, 48, {.seed = 1}) != own); // another order
  CHECK(job(1, 4, 4, 48, {.shuffle = false}) != own);
  CHECK(job(1, 4, 4, 600) != own);              // another dataset
  CHECK(job(1, 4, 4, 48, {}, false, 8) != own); // a dataset with other `facts`
  CHECK(job(4, 1, 4, 46) != job(1, 4, 4, 46));  // four ranks read two samples twice
  CHECK(job(4, 1, 4, 46, {.drop_last = true}) != job(1, 4, 4, 46));
  CHECK(job(2, 2, 4, 42) != job(1, 4, 4, 42)); // a small last batch counts as much as a full one
  CHECK(job(1, 4, 4, 42, {}, true) != job(1, 4, 4, 42));
}

TEST_CASE("step_samples: a step's samples may come in any order, and not in another step") {
  std::vector<std::size_t> order{5, 1, 4, 2, 0, 3};
  const std::uint64_t own = share_of_steps({order, 1, false, 3, 1}, 0);
  std::swap(order[0], order[2]);
  CHECK(share_of_steps({order, 1, false, 3, 1}, 0) == own);
  std::swap(order[2], order[3]);
  CHECK(share_of_steps({order, 1, false, 3, 1}, 0) != own);
  CHECK(share_of_steps({{}, 1, false, 3, 1}, 0) == 0);
}

} // namespace step_samples_tests
