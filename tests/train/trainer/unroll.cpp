// SPDX-License-Identifier: MIT
// Recurrent networks in training.
//
// under the thread sanitizer
// long to compile
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/recurrent/gru_cell.hpp>
#include <cairn/layer/recurrent/lstm_cell.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/unroll.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/report/summary.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"

namespace trainer_unroll_tests {

using namespace cairn;

namespace {

// The largest distance of a network of one Unroll from PyTorch's: its output, its input gradient, those of its parameters.
template <std::size_t Steps, class Block, class T>
double distance_from_torch(const std::string& name) {
  using Model = with_input_gradient<Sequential<Input<Steps, 4>, Block>>;
  trainer<Model, MSELoss, SGD, batch<3>, T> t{SGD{.learning_rate = T(1e-30)}, {.seed = 1}};
  const auto values = [&](const std::string& what) { return reference_numbers<T>(name + "/" + what); };
  std::size_t count = 0;
  t.for_each([&](const auto& p) {
    const auto from = values("parameter" + std::to_string(count++));
    REQUIRE(from.size() == p.numbers.size());
    std::copy(from.begin(), from.end(), p.numbers.begin());
  });
  REQUIRE(count == 4);
  // Targets for which the loss has the output gradient that PyTorch was given.
  const auto input = values("input"), output = values("output"), gradient = values("output_gradient");
  std::vector<T> targets(output.size());
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = output[i] - gradient[i] * static_cast<T>(output.size()) / 2;
  const auto distance = [&](const auto& found, const std::string& what) {
    return largest_difference(std::vector<T>(found.begin(), found.end()), reference_values(name + "/" + what));
  };
  double largest = distance(t.evaluate(input), "output");
  t.step(input, targets);
  largest = std::max(largest, distance(t.input_gradient(), "input_gradient"));
  count = 0;
  t.for_each_gradient(
      [&](const auto& p) { largest = std::max(largest, distance(p.numbers, "gradient" + std::to_string(count++))); });
  return largest;
}

constexpr std::size_t length = 9, most_rows = 6;

template <class Policy>
using Net = Sequential<Inputs<integers<length>>, Embedding<11, 8>, Unroll<length, LSTMCell<8, 12>, Policy>,
                       typename Unroll<length, GRUCell<12, 10>, Policy>::last, Linear<10, 4>>;
constexpr SGD momentum{.learning_rate = 0.1F, .momentum = 0.9F};

// The samples of one rank in one step. Ranks have batches of several sizes.
struct samples {
  std::vector<std::int32_t> x;
  std::vector<int> y;

  samples(int step, int rank) : x((rank == 1 ? 4 : most_rows) * length), y(x.size() / length) {
    const types::random_key key{
        .seed = 11, .step = static_cast<std::uint32_t>(step), .position = static_cast<std::uint32_t>(rank)};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(ops::random_bits(key, i) % 11);
    for (std::size_t r = 0; r < y.size(); ++r) y[r] = static_cast<int>((x[r * length] + x[r * length + 5]) % 4);
  }
};

struct trace {
  std::vector<double> losses;
  std::vector<float> parameters;
  bool operator==(const trace&) const = default;
};
template <class Trainer>
void finish(const Trainer& t, trace& to) {
  to.parameters.assign(t.parameters().begin(), t.parameters().end());
}

template <class Model, class T = float>
trace run(std::size_t threads = 1, int steps = 3) {
  trainer<Model, CrossEntropyLoss, SGD, batch<most_rows>, T> t{momentum, {.seed = 3, .threads = threads}};
  trace out;
  for (int step = 0; step < steps; ++step) {
    const samples s(step % 3, step % 2);
    out.losses.push_back(t.step(s.x, s.y));
  }
  finish(t, out);
  return out;
}

// Trains on ranks, each on its own samples.
template <class Model>
trace on_ranks(int ranks) {
  std::vector<trace> out(static_cast<std::size_t>(ranks));
  threads{ranks}.run([&](threads::rank& rank) {
    trainer<ddp<Model, threads::rank, bucket_bytes<1500>>, CrossEntropyLoss, SGD, batch<most_rows>> t{
        rank, momentum, {.seed = 3}};
    for (int step = 0; step < 2; ++step) {
      const samples s(step, rank.rank());
      t.step(s.x, s.y);
    }
    finish(t, out[static_cast<std::size_t>(rank.rank())]);
  });
  for (const trace& other : out) CHECK(other == out[0]);
  return out[0];
}
// The same as micro-batches on one rank.
template <class Model>
trace in_micro_batches(int count) {
  trainer<Model, CrossEntropyLoss, SGD, batch<most_rows>> t{momentum, {.seed = 3}};
  for (int step = 0; step < 2; ++step)
    for (int m = 0; m < count; ++m) {
      const samples s(step, m);
      if (m + 1 < count) t.accumulate(s.x, s.y);
      else t.step(s.x, s.y);
    }
  trace out;
  finish(t, out);
  return out;
}

} // namespace

TEST_CASE("trainer: Unroll has PyTorch's outputs and gradients, for 1, 2, 7 and 50 steps") {
  CHECK(distance_from_torch<1, Unroll<1, GRUCell<4, 3>>, double>("gru_1") < 1e-12);
  CHECK(distance_from_torch<1, Unroll<1, LSTMCell<4, 3>, sqrt_n>, double>("lstm_1") < 1e-12);
  CHECK(distance_from_torch<2, Unroll<2, GRUCell<4, 3>, recompute_all>, double>("gru_2") < 1e-12);
  CHECK(distance_from_torch<2, Unroll<2, LSTMCell<4, 3>>, double>("lstm_2") < 1e-12);
  CHECK(distance_from_torch<7, Unroll<7, GRUCell<4, 3>, budget_fraction<70>>, double>("gru_7") < 1e-12);
  CHECK(distance_from_torch<7, Unroll<7, LSTMCell<4, 3>, revolve<2>>, double>("lstm_7") < 1e-12);
  CHECK(distance_from_torch<50, Unroll<50, GRUCell<4, 3>, sqrt_n>, double>("gru_50") < 1e-11);
  CHECK(distance_from_torch<50, Unroll<50, LSTMCell<4, 3>, every<7>>, double>("lstm_50") < 1e-11);
  CHECK(distance_from_torch<50, Unroll<50, GRUCell<4, 3>>, float>("gru_50") < 1e-4);
}

TEST_CASE("trainer: Unroll::last has PyTorch's outputs and gradients") {
  CHECK(distance_from_torch<7, Unroll<7, GRUCell<4, 3>>::last, double>("gru_last") < 1e-12);
  CHECK(distance_from_torch<7, Unroll<7, LSTMCell<4, 3>, sqrt_n>::last, double>("lstm_last") < 1e-12);
}

TEST_CASE("trainer: recurrent networks have the same bits under every policy, with a fused update and on any number of threads") {
  const trace plain = run<Net<store_all>>();
  CHECK(run<Net<sqrt_n>>() == plain);
  CHECK(run<Net<recompute_all>>(2) == plain);
  CHECK(run<Net<revolve<3>>>(3) == plain);
  CHECK(run<fused_update<checkpoint<sqrt_n, Net<every<4>>>>>() == plain);
  CHECK(run<checkpoint<budget_fraction<70>, Net<store_all>>>() == plain);
}

TEST_CASE("trainer: recurrent networks on 1, 2 and 3 ranks are as many micro-batches, bit for bit") {
  for (int ranks = 1; ranks <= 3; ++ranks) {
    CAPTURE(ranks);
    const trace expected = in_micro_batches<Net<store_all>>(ranks);
    CHECK(on_ranks<Net<sqrt_n>>(ranks) == expected);
    CHECK(on_ranks<fused_update<Net<revolve<2>>>>(ranks) == expected);
  }
}

TEST_CASE_TEMPLATE("trainer of 16 bits: recurrent networks have the same bits under every policy, and learn", T, bfloat16,
                   float16) {
  CHECK(run<Net<sqrt_n>, T>() == run<Net<store_all>, T>());
  const trace wide = run<Net<store_all>>(1, 150), own = run<Net<store_all>, T>(1, 150);
  CHECK(wide.losses.back() < 0.2 * wide.losses.front());
  CHECK(std::abs(own.losses.back() - wide.losses.back()) < 0.05);
}

TEST_CASE("trainer: a summary shows the steps of a recurrent network, and that their parameters are there once") {
  const std::string text = summary<Net<sqrt_n>, most_rows>().text();
  CAPTURE(text);
  CHECK(text.find("Unroll ") != std::string::npos);
  CHECK(text.find("LSTMCell<8, 12>> x 9") != std::string::npos);
  CHECK(text.find("Unroll::last ") != std::string::npos);
  CHECK(text.find("1,056") != std::string::npos); // 4 x 12 rows of 8 + 12 + 2
}

} // namespace trainer_unroll_tests
