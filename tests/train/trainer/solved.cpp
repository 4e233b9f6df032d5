// SPDX-License-Identifier: MIT
// long to compile
// Schedules that are solved when the program runs: the same bits, in the bytes that were asked for.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/adam.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../training.hpp"

namespace trainer_solved_tests {

using namespace cairn;
using namespace cairn::detail;
using testing::samples;

namespace {

using Net = Sequential<Linear<testing::features, 32>, ReLU, Dropout<percent<20>>,
                       Repeat<8, Residual<Linear<32, 48>, ReLU, Linear<48, 32>>>, ReLU, Linear<32, testing::classes>>;
using ordinary = trainer<Net, CrossEntropyLoss, SGD, batch<6>>;

template <class Trainer>
std::uint64_t after_steps(Trainer& t) {
  const samples a(6, 1), b(4, 2);
  for (int i = 0; i < 3; ++i) {
    t.step(a.x, a.y);
    t.step(b.x, b.y);
  }
  return t.checksum();
}

} // namespace

TEST_CASE("a schedule solved at run time gives the bits of the compiled ones, in its own arena, for any budget") {
  ordinary reference{testing::momentum, {.seed = 3}};
  const std::uint64_t expected = after_steps(reference);
  const ordinary::curve curve;
  std::size_t last = 0;
  for (std::size_t i = 0; i < curve.size(); i += curve.size() / 6 + 1) {
    const auto step = curve.within(curve[i].bytes);
    ordinary t{testing::momentum, {.seed = 3, .schedule = step}};
    CHECK(t.arena().size() <= std::max(curve[i].bytes, ordinary::plan::evaluated::memory.arena));
    CHECK(t.arena().size() >= last);
    last = t.arena().size();
    CHECK(after_steps(t) == expected);
  }
  CHECK(last < reference.arena().size() + 1);
}

TEST_CASE("... where the model's own budget moved blocks to other ways: a solved schedule has them as they were typed") {
  using Blocks =
      Sequential<Linear<testing::features, 32>, Repeat<6, Residual<LayerNorm<32>, Linear<32, 48>, ReLU, Linear<48, 32>>>,
                 Linear<32, testing::classes>>;
  using of_blocks = trainer<Blocks, CrossEntropyLoss, SGD, batch<6>>;
  using moved = trainer<checkpoint<budget_fraction<70>, Blocks>, CrossEntropyLoss, SGD, batch<6>>;
  static_assert(moved::plan::ways::moved);
  static_assert(std::is_same_v<moved::curve::step, of_blocks::curve::step>);
  of_blocks reference{testing::momentum, {.seed = 3}};
  const std::uint64_t expected = after_steps(reference);
  const of_blocks::curve curve;
  for (std::size_t i = 0; i < curve.size(); i += curve.size() / 3 + 1) {
    moved t{testing::momentum, {.seed = 3, .schedule = curve.within(curve[i].bytes)}};
    CHECK(after_steps(t) == expected);
  }
  moved own{testing::momentum, {.seed = 3}};
  CHECK(after_steps(own) == expected);
}

TEST_CASE("... with the gradients in the arena, which the budget counts then") {
  using fused = trainer<fused_update<checkpoint<sqrt_n, Net>>, CrossEntropyLoss, Adam, batch<6>>;
  fused reference{Adam{}, {.seed = 3}};
  const std::uint64_t expected = after_steps(reference);
  const fused::curve curve;
  const std::size_t bytes = (curve[0].bytes + curve[curve.size() - 1].bytes) / 2;
  fused t{Adam{}, {.seed = 3, .schedule = curve.within(bytes)}};
  CHECK(t.arena().size() <= bytes);
  CHECK(after_steps(t) == expected);
}

TEST_CASE("... on several ranks, which refuse to start with different ones") {
  ordinary alone{testing::momentum, {.seed = 3}};
  const samples a(6, 1), b(6, 2);
  alone.accumulate(a.x, a.y);
  alone.step(b.x, b.y);
  const ordinary::curve curve;
  const std::size_t little = curve[curve.size() / 4].bytes;
  const std::size_t much = curve[curve.size() - 1].bytes;
  using replica = trainer<ddp<checkpoint<sqrt_n, Net>, threads::rank>, CrossEntropyLoss, SGD, batch<6>>;
  std::uint64_t found = 0;
  threads{2}.run([&](threads::rank& rank) {
    replica t{rank, testing::momentum, {.seed = 3, .schedule = replica::curve{}.within(little)}};
    const auto& mine = rank.rank() == 0 ? a : b;
    t.step(mine.x, mine.y);
    if (rank.rank() == 0) found = t.checksum();
  });
  CHECK(found == alone.checksum());

  std::string text;
  try {
    threads{2}.run([&](threads::rank& rank) {
      replica t{rank, testing::momentum, {.seed = 3, .schedule = replica::curve{}.within(rank.rank() == 0 ? little : much)}};
    });
  } catch (const error& refusal) {
    text = refusal.what();
  }
  CHECK(text.find("checkpoint policy") != std::string::npos);
}

} // namespace trainer_solved_tests
