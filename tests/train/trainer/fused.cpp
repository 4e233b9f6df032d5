// SPDX-License-Identifier: MIT
// long to compile
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include <cairn/layer/inputs.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/train/optimizers/adam.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/trainer.hpp>

#include "../../long_tests.hpp"
#include "../order.hpp"
#include "../training.hpp"
#include "../used_up.hpp"

namespace trainer_fused_tests {

using namespace cairn;
using testing::Net;
using testing::samples;

namespace {

// Odd widths, so that there is padding after every tensor.
using Odd = Sequential<
    Linear<testing::features, 17>, ReLU, Repeat<2, Residual<LayerNorm<17>, Linear<17, 19>, ReLU, Linear<19, 17>>>,
    Dropout<percent<20>>,
    checkpoint<sqrt_n, Sequential<Linear<17, 21>, ReLU, Residual<testing::Scale, Linear<21, 21>>, Linear<21, 5>, ReLU>>,
    Linear<5, testing::classes>>;

template <class A, class B>
bool same_bits(std::span<A> a, std::span<B> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

// Compares steps with and without a fused update, of full and partial batches, at two learning rates. Every place that is
// discarded or used up is filled with NaNs.
template <class Model, class T = float, class Optimizer>
void check(const Optimizer& optimizer) {
  trainer<Model, CrossEntropyLoss, Optimizer, batch<6>, T> plain{optimizer, {.seed = 3}};
  trainer<fused_update<Model>, CrossEntropyLoss, Optimizer, batch<6>, T> fused{optimizer, {.seed = 3, .threads = 2}};
  std::memset(fused.arena().data(), 0xFF, fused.arena().size());
  fused.on_discard({[](void*, std::byte* first, std::size_t count) { std::memset(first, 0xFF, count); }, nullptr});
  for (std::uint32_t step = 0; step < 4; ++step) {
    CAPTURE(step);
    const samples<T> s(step == 2 ? 4 : 6, step);
    if (step == 3) plain.learning_rate(0.01), fused.learning_rate(0.01);
    CHECK(fused.step(s.x, s.y) == plain.step(s.x, s.y));
    CHECK(same_bits(fused.parameters(), plain.parameters()));
    for (std::size_t i = 0; i < optimizer.states(); ++i) CHECK(same_bits(fused.optimizer_state(i), plain.optimizer_state(i)));
    CHECK(same_bits(fused.buffers(), plain.buffers()));
    CHECK(fused.steps() == plain.steps());
  }
  const samples<T> s(5, 9);
  CHECK(fused.evaluate_loss(s.x, s.y) == plain.evaluate_loss(s.x, s.y));
}

template <class Body, class Optimizer>
void check_policies(const Optimizer& optimizer) {
  check<checkpoint<sqrt_n, Body>>(optimizer);
  if constexpr (testing::long_tests) {
    check<Body>(optimizer);
    check<checkpoint<recompute_all, Body>>(optimizer);
    check<checkpoint<revolve<3>, Body>>(optimizer);
  }
}

} // namespace

TEST_CASE("trainer: a fused update has the bits of the ordinary one, SGD with momentum") {
  check_policies<Net>(testing::momentum);
  check_policies<Odd>(testing::momentum);
  check<Odd>(SGD{.learning_rate = 0.1});
  check<Odd>(SGD{.learning_rate = 0.1, .momentum = 0.9, .dampening = 0.1, .weight_decay = 1e-3});
  check<checkpoint<at<2, 4>, Odd>, double>(testing::momentum);
}

TEST_CASE("trainer: a fused update has the bits of the ordinary one, Adam and AdamW") {
  check_policies<Net>(Adam{.learning_rate = 0.01});
  check<checkpoint<sqrt_n, Odd>>(Adam{.learning_rate = 0.01, .weight_decay = 0.1});
  check<Odd>(AdamW{.learning_rate = 0.01, .weight_decay = 0.1});
#ifdef CAIRN_LONG_TESTS
  check<checkpoint<recompute_all, Odd>>(AdamW{.learning_rate = 0.01});
#endif
}

TEST_CASE("trainer: nothing reads a parameter or a gradient after its update") {
  const auto look = []<class Model>(Model*) {
    trainer<fused_update<Model>, CrossEntropyLoss, testing::used_up, batch<6>> fused{{}, {.seed = 3}};
    trainer<Model, CrossEntropyLoss, SGD, batch<6>> plain{SGD{}, {.seed = 3}};
    const samples s(6, 1);
    CHECK(fused.step(s.x, s.y) == plain.step(s.x, s.y));
    CHECK(same_bits(fused.optimizer_state(0), plain.gradients()));
    CHECK(fused.parameters()[0] != fused.parameters()[0]);
  };
  look(static_cast<Net*>(nullptr));
  look(static_cast<checkpoint<sqrt_n, Odd>*>(nullptr));
  look(static_cast<checkpoint<recompute_all, Odd>*>(nullptr));
#ifdef CAIRN_LONG_TESTS
  look(static_cast<Odd*>(nullptr));
  look(static_cast<checkpoint<revolve<3>, Odd>*>(nullptr));
#endif
}

TEST_CASE("trainer: a fused update lies in the arena, all of which a step touches, and has no other gradients") {
  using fused_trainer = trainer<fused_update<checkpoint<sqrt_n, Odd>>, CrossEntropyLoss, SGD, batch<6>>;
  using plan = fused_trainer::plan;
  static_assert(plan::trained::memory.arena == peak_activation_bytes<fused_update<checkpoint<sqrt_n, Odd>>, 6>);
  static_assert(fused_trainer::buckets.size() > 8);
  fused_trainer t{testing::momentum, {.seed = 3}};
  const std::span<std::byte> arena = t.arena();
  const auto pattern = [](std::size_t i) { return static_cast<std::byte>((i * 2654435761U) >> 13); };
  for (std::size_t i = 0; i < arena.size(); ++i) arena[i] = pattern(i);
  std::vector<std::size_t> told; // bytes of the places that were discarded
  t.on_discard(
      {[](void* self, std::byte*, std::size_t count) { static_cast<std::vector<std::size_t>*>(self)->push_back(count); }, &told});
  const samples s(6, 1);
  t.step(s.x, s.y);
  for (const detail::bucket& b : fused_trainer::buckets.buckets())
    CHECK(std::count(told.begin(), told.end(), b.size() * sizeof(float)) > 0);
  std::size_t touched = 0;
  for (std::size_t line = 0; line < arena.size(); line += detail::alignment) {
    bool same = true;
    for (std::size_t i = line; i < line + detail::alignment; ++i) same = same && arena[i] == pattern(i);
    touched += same ? 0 : detail::alignment;
  }
  CHECK(arena.size() == plan::trained::memory.arena);
  CHECK(touched == plan::trained::memory.arena);
}

TEST_CASE("trainer: a fused update happens right after the backward that completes a layer's gradients") {
  using fused_trainer = trainer<fused_update<Odd>, CrossEntropyLoss, SGD, batch<6>, float, recording::device>;
  fused_trainer t{testing::momentum, {.seed = 3}};
  const samples s(6, 1);
  t.step(s.x, s.y);
  // Each update belongs to one layer; between two updates is the backward of the next layer.
  const std::byte* const first = reinterpret_cast<const std::byte*>(t.parameters().data());
  const std::byte* const arena = t.arena().data();
  std::size_t updates = 0, since = 1, end = 0;
  for (const recording::entry& e : t.device().log().entries) {
    if (e.name != "sgd") {
      ++since;
      continue;
    }
    REQUIRE(updates < fused_trainer::buckets.size());
    CHECK(since > 0);
    CHECK(e.ranges[0].begin == first + end);
    end = fused_trainer::buckets[updates++].end * sizeof(float);
    CHECK(e.ranges[0].end == first + end);
    CHECK(e.ranges[2].begin >= arena);
    CHECK(e.ranges[2].end <= arena + t.arena().size());
    since = 0;
  }
  CHECK(updates == fused_trainer::buckets.size());
  CHECK(end == fused_trainer::plan::parameter_block * sizeof(float));
  // After the last update, only the results for the program follow.
  const std::vector<recording::entry>& all = t.device().log().entries;
  REQUIRE(since == 2);
  CHECK(all[all.size() - 2].name == "download");
  CHECK(all.back().what == recording::kind::record);
}

TEST_CASE("trainer: with a fused update a loss that is no number is refused before anything is updated") {
  trainer<fused_update<Net>, CrossEntropyLoss, SGD, batch<6>> t{testing::momentum, {.seed = 3, .check_loss = true}};
  trainer<Net, CrossEntropyLoss, SGD, batch<6>> other{testing::momentum, {.seed = 3}};
  const samples s(6, 1);
  std::vector<float> bad = s.x;
  bad[17] = std::numeric_limits<float>::quiet_NaN();
  t.step(s.x, s.y);
  other.step(s.x, s.y);
  CHECK(testing::has(testing::text_of([&] { t.step(bad, s.y); }), "expected a finite loss"));
  CHECK(t.checksum() == other.checksum());
  CHECK(t.steps() == 1);
  CHECK(t.step(s.x, s.y) == other.step(s.x, s.y));
  CHECK(t.checksum() == other.checksum());
}

TEST_CASE("trainer: a network without parameters has nothing to fuse") {
  trainer<fused_update<Sequential<Input<testing::classes>, ReLU>>, CrossEntropyLoss, SGD, batch<6>> t{SGD{}};
  CHECK(t.step(std::vector<float>(24, 1.0F), std::vector<int>(6, 1)) > 0);
  CHECK(t.steps() == 1);
}

} // namespace trainer_fused_tests
