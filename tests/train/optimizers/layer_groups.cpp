// SPDX-License-Identifier: MIT
#include <cairn/train/optimizers/layer_groups.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

namespace layer_groups_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<4, 6>, ReLU, Linear<6, 6>, ReLU, Linear<6, 2>>; // 0, 2 and 4 have parameters
using Groups = layer_groups<SGD>;
static_assert(optimizer<Groups> && detail::divides_parameters<Groups>);

template <class Model, class Optimizer>
std::vector<std::vector<float>> trained(const Optimizer& o, const rate_schedule& rate = {}, int steps = 1) {
  trainer<Model, MSELoss, Optimizer, batch<3>> train{o, {.seed = 4, .learning_rate = rate}};
  std::vector<float> x(12), y(6);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 5) - 2;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i % 3);
  for (int step = 0; step < steps; ++step) train.step(x, y);
  std::vector<std::vector<float>> all;
  train.for_each([&](const types::named_parameter<float>& q) { all.emplace_back(q.numbers.begin(), q.numbers.end()); });
  return all;
}
SGD at(double rate, double momentum = 0) { return {.learning_rate = rate, .momentum = momentum}; }

} // namespace

TEST_CASE("layer_groups: every part has the rate of its own, also by a schedule, and in buckets") {
  const Groups three{.others = at(0.25), .groups = {{"2", at(0.0625)}, {"4.weight", at(0.5)}}};
  // One step's gradients do not depend on the rates.
  const auto a = trained<Net>(at(0.25)), b = trained<Net>(at(0.0625)), c = trained<Net>(at(0.5));
  const std::vector<std::vector<float>> expected{a[0], a[1], b[2], b[3], c[4], a[5]};
  CHECK(trained<Net>(three) == expected);
  CHECK(trained<fused_update<Net>>(three) == expected);
  CHECK(trained<Net>(three, 0.25) == expected);
  const Groups half{.others = at(0.125), .groups = {{"2", at(0.03125)}, {"4.weight", at(0.25)}}};
  CHECK(trained<Net>(three, 0.125, 3) == trained<Net>(half, {}, 3));
}

TEST_CASE("layer_groups: where others have a rate of 0 the groups learn, and states are those of the most") {
  const auto start = trained<Net>(at(0));
  for (const rate_schedule& rate : {rate_schedule(), rate_schedule(0.5)}) {
    const auto all = trained<Net>(Groups{.others = at(0), .groups = {{"4", at(0.5, 0.9)}}}, rate, 3);
    for (const std::size_t k : {0U, 1U, 2U, 3U}) CHECK(all[k] == start[k]);
    for (const std::size_t k : {4U, 5U}) CHECK(all[k] != start[k]);
  }
  CHECK(Groups{.groups = {{"4", at(0.5, 0.9)}}}.states() == 1);
}

TEST_CASE("layer_groups: the first path that fits counts, and one that fits nothing is an error") {
  CHECK(detail::lies_under("1.0.weight", "1"));
  CHECK(detail::lies_under("1.0.weight", "1.0.weight"));
  CHECK_FALSE(detail::lies_under("10.weight", "1"));
  const Groups two{.groups = {{"4.bias", at(1)}, {"4", at(2)}}};
  CHECK(two.group_of("4.bias") == 0);
  CHECK(two.group_of("4.weight") == 1);
  CHECK(two.group_of("2.weight") == 2);
  CHECK_THROWS_WITH_AS(trained<Net>(Groups{.groups = {{"1", at(1)}}}), doctest::Contains("under the path '1' of a group"),
                       input_error);

  trainer<Net, MSELoss, Groups, batch<3>> train{two};
  train.optimizer(Groups{.groups = {{"4.bias", at(3)}, {"4", at(4)}}});
  CHECK_THROWS_WITH_AS(train.optimizer(Groups{.groups = {{"2", at(3)}, {"4", at(4)}}}), doctest::Contains("found others"),
                       input_error);
  CHECK_THROWS_WITH_AS(trained<Net>(Groups{.groups = {{"4", at(-1)}}}),
                       doctest::Contains("layer_groups: expected a learning rate"), input_error);
}

} // namespace layer_groups_tests
