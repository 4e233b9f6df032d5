// SPDX-License-Identifier: MIT
// long to compile
// Ranks without samples among others whose layers sum over the ranks. See also ddp/sync_batch_norm.cpp.
#include <cairn/train/ranks/rank_sums.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/trainer.hpp>

#include "../training.hpp"

namespace rank_sums_tests {

using namespace cairn;
using testing::classes;
using testing::features;
using testing::samples;

namespace {

using Net = Sequential<Linear<features, 8>, BatchNorm1d<8>, ReLU, Residual<Linear<8, 8>, BatchNorm1d<8>>, Linear<8, classes>>;
constexpr SGD steep{.learning_rate = 0.05, .momentum = 0.9};

// The number of steps for which each rank has samples.
constexpr int most = 3;
int steps_of(int rank) { return rank == 0 ? 1 : rank == 1 ? most : 2; }

// The samples of ranks [first, last) in a step, of those that have some.
samples<double> samples_of(int step, int micro_batch, int first, int last) {
  samples<double> all(0, 0);
  for (int rank = first; rank < last; ++rank) {
    if (step >= steps_of(rank)) continue;
    const samples<double> own(6, static_cast<std::uint32_t>(100 * step + 10 * micro_batch + rank));
    all.x.insert(all.x.end(), own.x.begin(), own.x.end());
    all.y.insert(all.y.end(), own.y.begin(), own.y.end());
  }
  return all;
}

template <class Trainer>
void make_step(Trainer& t, int step, int first, int last) {
  if constexpr (!Trainer::fused) {
    const auto s = samples_of(step, 1, first, last);
    t.accumulate(s.x, s.y);
  }
  const auto s = samples_of(step, 0, first, last);
  t.forward(s.x); // the other ranks join it, too
  t.step(s.x, s.y);
}
template <class Trainer>
std::vector<double> numbers_of(Trainer& t) {
  std::vector<double> out(t.parameters().begin(), t.parameters().end());
  out.insert(out.end(), t.buffers().begin(), t.buffers().end());
  return out;
}

template <template <class> class Way, class... Options>
void check_join() {
  trainer<Way<Net>, CrossEntropyLoss, SGD, batch<18>, double> alone{steep, {.seed = 4}};
  for (int epoch = 0; epoch < 2; ++epoch)
    for (int step = 0; step < most; ++step) make_step(alone, step, 0, 3);
  const std::vector<double> whole = numbers_of(alone);
  std::vector<std::vector<double>> seen(3);
  threads{3}.run([&](threads::rank& rank) {
    trainer<ddp<Way<Net>, threads::rank, sync_batch_norm, Options...>, CrossEntropyLoss, SGD, batch<6>, double> t{
        rank, steep, {.seed = 4}};
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (int step = 0; step < steps_of(rank.rank()); ++step) make_step(t, step, rank.rank(), rank.rank() + 1);
      CHECK(t.join() == static_cast<std::uint64_t>(most - steps_of(rank.rank())));
    }
    seen[static_cast<std::size_t>(rank.rank())] = numbers_of(t);
  });
  CHECK(seen[0] == seen[1]);
  CHECK(seen[0] == seen[2]);
  double largest = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) largest = std::max(largest, std::abs(whole[i] - seen[0][i]));
  CHECK(largest < 1e-12);
}
template <class Model>
using as_it_is = Model;

} // namespace

TEST_CASE("rank_sums: ranks that are finished take part in the statistics of the others with nothing") {
  check_join<as_it_is, bucket_bytes<1>>();
  check_join<as_it_is, after_backward>();
  check_join<fused_update, bucket_bytes<1>>();
  check_join<fused_update>();
}

} // namespace rank_sums_tests
