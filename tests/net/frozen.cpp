// SPDX-License-Identifier: MIT
#include <cairn/net/frozen.hpp>

#include <string>
#include <vector>

#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

namespace frozen_tests {

using namespace cairn;

namespace {

using Base = Sequential<Linear<4, 6>, LayerNorm<6>, Residual<ReLU, Linear<6, 6>>>;
using Learnt = Sequential<Linear<4, 4>, Base, Linear<6, 2>>;
template <class Policy>
using Frozen = checkpoint<Policy, Sequential<Linear<4, 4>, frozen<Base>, Linear<6, 2>>>;

struct step_of {
  std::vector<float> x = std::vector<float>(12), y = std::vector<float>(6);
  step_of() {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 5) - 2;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i % 3);
  }
};

template <class Net>
using training = trainer<Net, MSELoss, SGD, batch<3>>;

template <class Trainer>
std::vector<std::vector<float>> numbers_of(Trainer& train) {
  std::vector<std::vector<float>> all;
  train.for_each([&](const types::named_parameter<float>& q) { all.emplace_back(q.numbers.begin(), q.numbers.end()); });
  return all;
}

} // namespace

TEST_CASE("frozen: its parameters have no gradient in memory, and keep their values") {
  using plan = blueprint_of<Frozen<store_all>, 3>;
  static_assert(plan::parameters == 4 * 4 + 4 + 6 * 2 + 2);
  static_assert(plan::parameter_block + plan::state_block == blueprint_of<Learnt, 3>::parameter_block);
  const step_of data;
  training<Frozen<store_all>> train{SGD{.learning_rate = 0.1}, {.seed = 3}};
  const auto before = numbers_of(train);
  for (int step = 0; step < 3; ++step) train.step(data.x, data.y);
  const auto after = numbers_of(train);
  REQUIRE(before.size() == 10);
  for (std::size_t k = 0; k < before.size(); ++k) CHECK((before[k] == after[k]) == (k >= 2 && k < 8));
}

TEST_CASE_TEMPLATE("frozen: the gradients of what stands around it are the same bits, under every policy", Policy, store_all,
                   recompute_all, sqrt_n, every<2>) {
  const step_of data;
  training<Learnt> all{SGD{.learning_rate = 0.1}, {.seed = 3}};
  training<Frozen<Policy>> some{SGD{.learning_rate = 0.1}, {.seed = 5}};
  some.copy_parameters(all);
  CHECK(numbers_of(some) == numbers_of(all));
  CHECK(some.step(data.x, data.y) == all.step(data.x, data.y));
  const auto a = numbers_of(all), b = numbers_of(some);
  for (const std::size_t k : {0U, 1U, 8U, 9U}) CHECK(a[k] == b[k]);
}

TEST_CASE("frozen: the model of the same function is one network, wherever its parameters lie") {
  const step_of data;
  training<Frozen<sqrt_n>> train{SGD{.learning_rate = 0.1}, {.seed = 3}};
  train.step(data.x, data.y);
  model<Learnt, batch<3>> net;
  net.copy_parameters(train);
  const auto a = net.evaluate(data.x), b = train.evaluate(data.x);
  CHECK(std::vector<float>(a.begin(), a.end()) == std::vector<float>(b.begin(), b.end()));
}

TEST_CASE("frozen: below it nothing runs backward") {
  using plan = blueprint_of<Sequential<frozen<Base>, Linear<6, 2>>, 3>;
  static_assert(plan::whole.lowest_backward() == 1);
  std::size_t backwards = 0;
  for (const detail::op& o : plan::training.ops()) backwards += o.kind == detail::op_kind::backward ? 1 : 0;
  CHECK(backwards == 1);
}

} // namespace frozen_tests
