// SPDX-License-Identifier: MIT
// Networks of bfloat16 and float16 on a GPU: the bits of every policy and of ranks, and agreement with a cpu. They run on the
// fake runtime.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <doctest/doctest.h>

#include "fake/fake.hpp"
#include "ranks.hpp"

namespace cuda_sixteen_bits_tests {

using namespace cairn;
using testing::classes, testing::features, testing::most_rows;
using Net = Sequential<Linear<features, 16>, ReLU, Residual<Linear<16, 16>, GELU, Linear<16, 16>>, Linear<16, classes>>;
template <class Model, class T, class Device = cuda>
using training = trainer<Model, CrossEntropyLoss, AdamW, batch<most_rows>, T, Device>;

namespace {

struct seen {
  std::vector<double> losses;
  std::vector<float> learnt;
  bool operator==(const seen&) const = default;
};
testing::samples samples_of(std::size_t step, std::size_t rank) {
  testing::samples s = testing::samples_of(step, 0, rank);
  if (step == 3 && rank == 1) s.x[5] = std::numeric_limits<float>::infinity();
  return s;
}
// Six steps of two micro-batches.
template <class Model, class T, class Device = cuda>
seen alone() {
  using type = training<Model, T, Device>;
  type t{AdamW{.learning_rate = 0.02}, {.seed = 5, .clip = {0.5}, .loss_scale = dynamic_scale{.growth_interval = 2}}};
  seen all;
  for (std::size_t step = 0; step < 6; ++step) {
    const testing::samples first = samples_of(step, 0), second = samples_of(step, 1);
    all.losses.push_back(t.accumulate(first.x, first.y));
    all.losses.push_back(t.step(second.x, second.y));
  }
  all.losses.push_back(t.loss_scale());
  CHECK(t.skipped_updates() == 1);
  all.learnt = testing::learnt(t);
  return all;
}

} // namespace

TEST_CASE_TEMPLATE("cuda, 16 bits: every policy and two ranks have the same bits, near those of a cpu", T, bfloat16, float16) {
  fake::reset();
  const seen expected = alone<Net, T>();
  CHECK(alone<checkpoint<recompute_all, Net>, T>().learnt == expected.learnt);
  std::vector<std::vector<float>> found(2);
  threads{2}.run([&](threads::rank& rank) {
    using type = training<ddp<Net, threads::rank, bucket_bytes<512>>, T>;
    type t{rank,
           AdamW{.learning_rate = 0.02},
           {.seed = 5, .ordinal = 0, .check_every = 1, .clip = {0.5}, .loss_scale = dynamic_scale{.growth_interval = 2}}};
    const auto own = static_cast<std::size_t>(rank.rank());
    for (std::size_t step = 0; step < 6; ++step) {
      const testing::samples s = samples_of(step, own);
      t.step(s.x, s.y);
    }
    found[own] = testing::learnt(t);
  });
  CHECK((found[0] == expected.learnt && found[1] == expected.learnt));
  const seen here = alone<Net, T, cpu>();
  REQUIRE(here.losses.size() == expected.losses.size());
  for (std::size_t i = 0; i < here.losses.size(); ++i)
    if (std::isfinite(here.losses[i])) CHECK(expected.losses[i] == doctest::Approx(here.losses[i]).epsilon(0.02));
  CHECK(expected.losses[10] < expected.losses[0]);
  CHECK(expected.losses.back() == here.losses.back());
}

} // namespace cuda_sixteen_bits_tests
