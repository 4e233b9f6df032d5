// SPDX-License-Identifier: MIT
#include <cairn/train/optimizers/optimizer.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/ops/ops.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../../reference/optimizer_check.hpp"

namespace optimizer_tests {

using namespace cairn;

namespace {

// A user's own optimizer: moves every parameter by the learning rate against the sign of its gradient.
struct sign_descent {
  double learning_rate = 0.25;
  std::size_t states() const { return 0; }

  template <class Queue, class T>
  void update(Queue&, const update_call<T>& call) const {
    for (std::size_t i = 0; i < call.count; ++i)
      call.parameters[i] -= static_cast<T>(call.gradients[i] > 0 ? call.learning_rate : -call.learning_rate);
  }
};

struct without_rate {
  std::size_t states() const { return 0; }
};

} // namespace

static_assert(optimizer<sign_descent>);
static_assert(!optimizer<without_rate> && !optimizer<int>);

TEST_CASE("update_call: is enough for an optimizer of one's own") {
  const auto start = reference_numbers<double>("optimizer/start");
  const auto gradients = reference_numbers<double>("optimizer/gradients");
  const auto after = trajectory<double>(sign_descent{});
  for (std::size_t i = 0; i < start.size(); ++i) CHECK(after[i] == start[i] - (gradients[i] > 0 ? 0.25 : -0.25));
}

namespace {

// SGD, in the fewest words.
struct plain_descent {
  double learning_rate = 0.1;
  std::size_t states() const { return 0; }
  template <class T>
  void update(cpu::queue&, const update_call<T>& call) const {
    for (std::size_t i = 0; i < call.count; ++i) call.parameters[i] -= call.learning_rate * (call.scale() * call.gradients[i]);
  }
};

// The outputs after three steps of two ranks, with two micro-batches each.
template <class Optimizer>
std::vector<double> outputs_of_two_ranks(double max_norm) {
  std::vector<double> out;
  threads{2}.run([&](threads::rank& rank) {
    trainer<ddp<Linear<3, 2>, threads::rank>, MSELoss, Optimizer, batch<4>, double> train{
        rank, Optimizer{.learning_rate = 0.1}, {.seed = 3, .clip = {max_norm}}};
    std::vector<double> x(12), y(8, 1);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = ops::random_uniform<double>({.seed = static_cast<std::uint64_t>(rank.rank())}, i);
    for (int step = 0; step < 3; ++step) {
      train.accumulate(x, y);
      train.step(x, y);
    }
    const auto found = train.evaluate(x);
    if (rank.rank() == 0) out.assign(found.begin(), found.end());
  });
  return out;
}

template <class T>
concept is_a_number = requires(T x) { 2.0 * x; };

} // namespace

// Whoever forgets to call the scale would lose means over ranks and clipping without a word.
static_assert(is_a_number<double> && !is_a_number<decltype(update_call<double>::scale)>);

TEST_CASE("update_call: scale() averages over micro-batches and ranks, and clips") {
  for (const double max_norm : {0.0, 0.01}) {
    const std::vector<double> own = outputs_of_two_ranks<plain_descent>(max_norm), expected = outputs_of_two_ranks<SGD>(max_norm);
    REQUIRE(own.size() == 8);
    for (std::size_t i = 0; i < own.size(); ++i) CHECK(own[i] == doctest::Approx(expected[i]).epsilon(1e-14));
  }
  CHECK(outputs_of_two_ranks<SGD>(0) != outputs_of_two_ranks<SGD>(0.01));
}

} // namespace optimizer_tests
