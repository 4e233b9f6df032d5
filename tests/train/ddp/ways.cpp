// SPDX-License-Identifier: MIT
// Blocks that leave the way in which they were typed under a budget (net/ways.hpp), in training and on ranks.
//
// under the thread sanitizer
// long to compile
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/dense/dense_transition.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/concat.hpp>
#include <cairn/net/dense/dense_block.hpp>
#include <cairn/net/gated.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/trainer.hpp>

#include "../training.hpp"

namespace ddp_ways_tests {

using namespace cairn;

namespace {

constexpr int steps = 2;
constexpr std::size_t most_rows = 6;

using Norm = Residual<LayerNorm<16>, Linear<16, 64>, GELU, Dropout<percent<30>>, Linear<64, 16>>;
using Unit = Gated<Sequential<Linear<16, 48>, GELU, Linear<48, 16>>, Linear<16, 16>>;
using Blocks = Sequential<Linear<10, 16>, Repeat<3, Sequential<Norm, Unit>>, Norm, Linear<16, 4>>;
using Branches = Concat<Sequential<Linear<16, 24>, GELU, Linear<24, 12>>, Sequential<LayerNorm<16>, Linear<16, 8>, ReLU>>;
using Projection = Residual<shortcut<Linear<20, 16>, GELU>, LayerNorm<20>, Linear<20, 24>, GELU, Dropout<>, Linear<24, 16>>;
using Joined = Sequential<Linear<10, 16>, Repeat<3, Sequential<Branches, Projection>>, Linear<16, 4>>;
using Dense = Sequential<Input<5, 5, 6>, DenseBlock<4, 4>, DenseTransition<6>, DenseBlock<4, 4>, DenseTransition<6>,
                         DenseBlock<3, 4>, AdaptiveAvgPool2d<1>, Flatten, Linear<18, 4>>;

// The samples of one rank in one step. Ranks have batches of several sizes.
template <class Model>
struct samples {
  std::vector<float> x;
  std::vector<int> y;

  samples(int step, int rank) : x((rank == 1 ? 4 : most_rows) * blueprint_of<Model, 1>::input_shape.size()) {
    const types::random_key key{
        .seed = 11, .step = static_cast<std::uint32_t>(step), .position = static_cast<std::uint32_t>(rank)};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * ops::random_uniform<float>(key, i) - 1;
    y.resize(rank == 1 ? 4 : most_rows);
    for (std::size_t r = 0; r < y.size(); ++r) y[r] = static_cast<int>(ops::random_bits(key, (1U << 20) + r) % 4);
  }
};

struct trace {
  std::vector<double> losses;
  std::uint64_t parameters = 0, momentum = 0;
  bool operator==(const trace&) const = default;
};

// Trains, and looks at the results of each rank. Memory is overwritten as soon as nothing is to be read there.
template <class Replica, class Net>
std::vector<trace> run(int ranks, int micro_batches = 1) {
  std::vector<trace> out(static_cast<std::size_t>(ranks));
  threads{ranks}.run([&](threads::rank& rank) {
    trainer<Replica, CrossEntropyLoss, SGD, batch<most_rows>> t{rank, testing::momentum, {.seed = 3}};
    t.on_discard({[](void*, std::byte* first, std::size_t count) { std::memset(first, 0xFF, count); }, nullptr});
    trace& mine = out[static_cast<std::size_t>(rank.rank())];
    for (int step = 0; step < steps; ++step)
      for (int m = 0; m < micro_batches; ++m) {
        const samples<Net> s(step, rank.rank() + m);
        if constexpr (!decltype(t)::fused)
          if (m + 1 < micro_batches) {
            t.accumulate(s.x, s.y);
            continue;
          }
        mine.losses.push_back(t.step(s.x, s.y));
      }
    mine.parameters = t.checksum();
    mine.momentum = detail::checksum(std::as_bytes(t.optimizer_state(0)));
  });
  return out;
}

// The blocks that left the way in which they were typed.
template <class Model>
constexpr std::size_t blocks_moved = [] {
  std::size_t count = 0;
  for (const std::uint8_t way : blueprint_of<Model, most_rows>::ways::way) count += way != 0 ? 1U : 0U;
  return count;
}();

// A fused update has gradients in the arena too, which need their share of it.
template <std::size_t Percent, class Net, std::size_t Fused = Percent>
void check() {
  using Model = checkpoint<budget_fraction<Percent>, Net>;
  static_assert(blocks_moved<Model> > 0);
  static_assert(peak_activation_bytes<Model, most_rows> <= peak_activation_bytes<Net, most_rows> * Percent / 100);
  for (int ranks = 1; ranks <= 3; ++ranks) {
    CAPTURE(ranks);
    const std::vector<trace> want = run<ddp<Net, threads::rank>, Net>(ranks);
    CHECK(run<ddp<Model, threads::rank>, Net>(ranks) == want);
    CHECK(run<ddp<fused_update<checkpoint<budget_fraction<Fused>, Net>>, threads::rank, bucket_bytes<1500>>, Net>(ranks) == want);
    CHECK(want.front().parameters == want.back().parameters);
  }
}

} // namespace

TEST_CASE("ddp: ways of blocks have the bits of store_all on 1 to 3 ranks, with a fused update too") {
  check<40, Blocks, 60>();
  check<70, Joined>();
}
TEST_CASE("ddp: ways of dense blocks have the bits of store_all on 1 to 3 ranks, with a fused update too") { check<70, Dense>(); }

TEST_CASE("ddp: two ranks with ways of blocks are two micro-batches that store everything") {
  using Model = checkpoint<budget_fraction<40>, Blocks>;
  const trace two = run<ddp<Model, threads::rank>, Blocks>(2)[0];
  const trace alone = run<ddp<Blocks, threads::rank>, Blocks>(1, 2)[0];
  CHECK(two.parameters == alone.parameters);
  CHECK(two.momentum == alone.momentum);
}

} // namespace ddp_ways_tests
