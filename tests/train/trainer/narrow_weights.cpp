// SPDX-License-Identifier: MIT
// The 16-bit copy of a trainer's weights: after each way to change them, layers read the new ones.
//
// long to compile
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/report/timed_summary.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/fit/ema.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/optimizers/layer_groups.hpp>
#include <cairn/train/state/safetensors.hpp>
#include <cairn/train/state/saved_state.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../../data/folder.hpp"
#include "../training.hpp"

namespace trainer_narrow_weights_tests {

using namespace cairn;
using testing::classes;
using testing::copy_of;
using testing::features;
using samples = testing::samples<float>;

namespace {

using Net = Sequential<Linear<features, 16>, frozen<Linear<16, 16>>, ReLU, Linear<16, classes>>;
template <class Optimizer, class Model = Net, class T = bfloat16>
using training = trainer<Model, CrossEntropyLoss, Optimizer, batch<6>, T>;
using plain = training<AdamW>;
constexpr AdamW adamw{.learning_rate = 0.1}; // each step moves parameters by far more than they are rounded

// The outputs of a model that has the trainer's parameters and a copy of its own, which is made for this evaluation.
template <class Trainer>
std::vector<float> expected_of(const Trainer& train, const samples& s) {
  model<Net, batch<6>, typename Trainer::plan::element> fresh;
  fresh.copy_parameters(train);
  return copy_of(fresh.evaluate(s.x));
}
// Whether the trainer's layers read its present parameters. `before` are its outputs from before the change.
template <class Trainer>
bool is_current(Trainer& train, const samples& s, const std::vector<float>& before) {
  const std::vector<float> found = copy_of(train.evaluate(s.x));
  CHECK(found != before); // else nothing was changed
  return found == expected_of(train, s);
}

const samples shown(6, 1), given(6, 2);

// Changes the weights of a trainer whose copy is current.
template <class Trainer, class Change>
void check_after(Trainer& train, const Change& change) {
  const std::vector<float> before = copy_of(train.evaluate(shown.x));
  change();
  CHECK(is_current(train, shown, before));
}
template <class Optimizer, class Model = Net, class T = bfloat16>
void check_steps(const Optimizer& optimizer) {
  training<Optimizer, Model, T> train{optimizer, {.seed = 3}};
  for (int step = 0; step < 2; ++step) check_after(train, [&] { train.step(given.x, given.y); });
}

} // namespace

TEST_CASE("trainer of 16 bits: after a step layers read the new parameters, for every kind of optimizer") {
  check_steps(adamw);
  check_steps<AdamW, Net, float16>(adamw);
  check_steps(testing::momentum);
  check_steps(ema{adamw, 0.5});
  check_steps(layer_groups<AdamW>{adamw, {{"0", AdamW{.learning_rate = 0.2}}}});
  check_steps<AdamW, fused_update<Net>>(adamw);
  check_steps<AdamW, fused_update<checkpoint<sqrt_n, Net>>>(adamw);
}

TEST_CASE("trainer of 16 bits: micro-batches and skipped updates leave the parameters that layers read") {
  training<AdamW, Net, float16> train{adamw, {.seed = 3, .loss_scale = dynamic_scale{}}};
  train.step(given.x, given.y);
  const std::vector<float> before = copy_of(train.evaluate(shown.x));
  train.accumulate(given.x, given.y);
  CHECK(copy_of(train.evaluate(shown.x)) == before);
  train.drop_micro_batches();
  samples bad = given;
  bad.x[7] = std::numeric_limits<float>::infinity();
  train.step(bad.x, bad.y);
  REQUIRE(train.skipped_updates() == 1);
  CHECK(copy_of(train.evaluate(shown.x)) == before);
  CHECK(before == expected_of(train, shown));
  check_after(train, [&] { train.step(given.x, given.y); });
}

TEST_CASE("trainer of 16 bits: layers read what the program writes, at once and later") {
  {
    plain train{adamw, {.seed = 3}};
    check_after(train, [&] { train.parameter("0.weight")[0] = 4; });
  }
  {
    plain train{adamw, {.seed = 3}};
    check_after(train, [&] { train.parameter("1.weight")[0] = 4; }); // frozen
  }
  {
    plain train{adamw, {.seed = 3}};
    check_after(train, [&] { train.for_each([](const auto& q) { q.numbers[0] += 1; }); });
  }
  {
    plain train{adamw, {.seed = 3}};
    check_after(train, [&] { train.buffers()[0] = 4; }); // a frozen weight
  }
  plain train{adamw, {.seed = 3}};
  const std::span<float> parameters = train.parameters();
  check_after(train, [&] { parameters[0] = 4; });
  check_after(train, [&] { train.step(given.x, given.y); });
  check_after(train, [&] { parameters[1] = -3; });
}

TEST_CASE("trainer of 16 bits: layers read what was loaded, copied, or put back") {
  const folder place;
  plain source{adamw, {.seed = 8}}, train{adamw, {.seed = 3}};
  for (int step = 0; step < 3; ++step) source.step(given.x, given.y);
  check_after(train, [&] { train.copy_parameters(source); });
  train.step(given.x, given.y);
  save_weights(source, (place.path / "weights.safetensors").string());
  check_after(train, [&] { load_weights(train, (place.path / "weights.safetensors").string()); });

  plain first{adamw, {.seed = 3}};
  first.step(given.x, given.y);
  save_state(first, (place.path / "state.safetensors").string());
  const std::vector<float> saved = copy_of(first.evaluate(shown.x));
  first.step(given.x, given.y);
  check_after(first, [&] { load_state(first, (place.path / "state.safetensors").string()); });
  CHECK(copy_of(first.evaluate(shown.x)) == saved);

  // Watched steps are undone.
  static_cast<void>(timed_summary(first, given.x, given.y, {.steps = 2, .warm_up = 0}));
  CHECK(copy_of(first.evaluate(shown.x)) == saved);
  {
    detail::kept_training before(first.inside());
    first.step(given.x, given.y);
    CHECK(copy_of(first.evaluate(shown.x)) != saved);
    before.give_back();
  }
  CHECK(copy_of(first.evaluate(shown.x)) == saved);

  training<ema<AdamW>> averaged{ema{adamw, 0.5}, {.seed = 3}};
  for (int step = 0; step < 3; ++step) averaged.step(given.x, given.y);
  check_after(train, [&] { copy_averages(averaged, train); });
}

TEST_CASE("trainer of 16 bits: ranks read what others sent") {
  const folder place;
  const std::string file = (place.path / "weights.safetensors").string();
  plain source{adamw, {.seed = 8}};
  for (int step = 0; step < 3; ++step) source.step(given.x, given.y);
  save_weights(source, file);
  std::array<int, 3> wrong{};
  threads{3}.run([&](threads::rank& rank) {
    training<AdamW, ddp<Net, threads::rank>> train{rank, adamw, {.seed = 3}};
    int& mine = wrong[static_cast<std::size_t>(rank.rank())];
    const auto look = [&](bool changes, const auto& change) {
      const std::vector<float> before = copy_of(train.evaluate(shown.x));
      change();
      const std::vector<float> found = copy_of(train.evaluate(shown.x));
      mine += (changes && found == before) || found != expected_of(train, shown);
    };
    look(true, [&] { train.step(given.x, given.y); });
    // Rank 0 alone loads weights, and all ranks take them.
    if (rank.rank() == 0) load_weights(train, file);
    look(rank.rank() != 0, [&] { train.synchronize(); });
    look(true, [&] { train.step(given.x, given.y); });
    // Frozen weights lie among the buffers, which a rank that has joined takes from the one that had samples last.
    if (rank.rank() == 2) {
      model<Net, batch<6>, bfloat16> other{{.seed = 12}};
      model<Net, batch<6>, bfloat16> mixed;
      mixed.copy_parameters(train);
      std::vector<float> weight(16 * 16);
      other.for_each([&](const auto& q) {
        if (q.name == "1.weight") weight.assign(q.numbers.begin(), q.numbers.end());
      });
      mixed.for_each([&](const auto& q) {
        if (q.name == "1.weight") std::copy(weight.begin(), weight.end(), q.numbers.begin());
      });
      train.copy_parameters(mixed);
    }
    look(rank.rank() != 2, [&] {
      if (rank.rank() == 2) train.step(given.x, given.y);
      train.join();
    });
  });
  CHECK(wrong == std::array<int, 3>{});
}

} // namespace trainer_narrow_weights_tests
