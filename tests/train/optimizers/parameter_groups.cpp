// SPDX-License-Identifier: MIT
#include <cairn/train/optimizers/parameter_groups.hpp>

#include <vector>

#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

namespace parameter_groups_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<4, 6>, LayerNorm<6>, Linear<6, 2>>;
using Groups = parameter_groups<vectors_only, AdamW>;
static_assert(optimizer<Groups>);

template <class Optimizer>
std::vector<std::vector<float>> trained(const Optimizer& o, const rate_schedule& rate = {}) {
  trainer<Net, MSELoss, Optimizer, batch<3>> train{o, {.seed = 4, .learning_rate = rate}};
  std::vector<float> x(12), y(6);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 5) - 2;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i % 3);
  for (int step = 0; step < 4; ++step) train.step(x, y);
  std::vector<std::vector<float>> all;
  train.for_each([&](const types::named_parameter<float>& q) { all.emplace_back(q.numbers.begin(), q.numbers.end()); });
  return all;
}

} // namespace

TEST_CASE("parameter_groups: each parameter is updated by the optimizer of its kind") {
  const AdamW decays{.learning_rate = 0.1, .weight_decay = 0.5};
  const AdamW does_not{.learning_rate = 0.1, .weight_decay = 0};
  const auto all = trained(Groups{.special = does_not, .others = decays});
  // Elements are updated independently: groups with the same optimizer train like that optimizer alone. With different ones the
  // network differs from both.
  CHECK(trained(Groups{.special = decays, .others = decays}) == trained(decays));
  CHECK(trained(Groups{.special = does_not, .others = does_not}) == trained(does_not));
  CHECK(all != trained(decays));
  CHECK(all != trained(does_not));
}

TEST_CASE("parameter_groups: what a rate of 0 leaves as it was") {
  const auto start = trained(SGD{.learning_rate = 0});
  using Pair = parameter_groups<vectors_only, SGD>;
  const auto some = trained(Pair{.special = {.learning_rate = 0}, .others = {.learning_rate = 0.1, .momentum = 0.9}});
  REQUIRE(start.size() == 6);
  for (const std::size_t k : {0U, 4U}) CHECK(some[k] != start[k]); // weights of the two Linears
  for (const std::size_t k : {1U, 2U, 3U, 5U}) CHECK(some[k] == start[k]);
}

TEST_CASE("parameter_groups: a rate of 0 for the others leaves the special ones their own") {
  using Pair = parameter_groups<vectors_only, SGD>;
  const Pair some{.special = {.learning_rate = 0.1}, .others = {.learning_rate = 0}};
  const auto start = trained(SGD{.learning_rate = 0});
  for (const rate_schedule& rate : {rate_schedule(), rate_schedule(0.1)}) {
    const auto all = trained(some, rate);
    for (const std::size_t k : {0U, 4U}) CHECK(all[k] == start[k]); // weights of the two Linears
    for (const std::size_t k : {1U, 2U, 3U, 5U}) CHECK(all[k] != start[k]);
    CHECK(all == trained(some)); // the schedule begins with the rate of the special group
  }
  // Under a schedule, the special group keeps its ratio to the others' rate.
  CHECK(trained(Pair{.special = {.learning_rate = 0.2}, .others = {.learning_rate = 0.1}}, 0.05) ==
        trained(Pair{.special = {.learning_rate = 0.1}, .others = {.learning_rate = 0.05}}));
}

} // namespace parameter_groups_tests
