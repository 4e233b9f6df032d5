// SPDX-License-Identifier: MIT
// Networks of bfloat16 and float16: activations of 16 bits; parameters, gradients and the optimizer's states of float.
//
// long to compile
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/layer/tied.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/gated.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../training.hpp"

namespace trainer_narrow_tests {

using namespace cairn;

namespace {

constexpr std::size_t inside = 32;
// Extents that are no multiple of a cache line, so that there is padding.
using Mlp =
    Sequential<Linear<10, 24>, ReLU, Gated<Linear<24, 24>, Sequential<Linear<24, 24>, Sigmoid>>,
               Residual<LayerNorm<24>, Linear<24, inside>, GELU, Linear<inside, 24>>, Dropout<percent<20>>, Linear<24, 4>>;
constexpr AdamW adamw{.learning_rate = 0.01};

// The results of a job: the loss of each step, and the parameters.
struct trace {
  std::vector<double> losses;
  std::vector<float> parameters;
  bool operator==(const trace&) const = default;
};
template <class Trainer>
trace trained(Trainer& t, int steps = 6) {
  trace out;
  for (int step = 0; step < steps; ++step) {
    const testing::samples s(step == 2 ? 5 : 8, static_cast<std::uint32_t>(step % 3));
    out.losses.push_back(t.step(s.x, s.y));
  }
  t.for_each([&](const auto& q) { out.parameters.insert(out.parameters.end(), q.numbers.begin(), q.numbers.end()); });
  return out;
}
template <class Model, class T, class Optimizer>
trace run(const Optimizer& optimizer, int steps = 6) {
  trainer<Model, CrossEntropyLoss, Optimizer, batch<8>, T> t{optimizer, {.seed = 3}};
  return trained(t, steps);
}

} // namespace

TEST_CASE("trainer of bfloat16: every policy and a fused update leave the same bits, with AdamW and with SGD") {
  const trace plain = run<Mlp, bfloat16>(adamw);
  CHECK(run<checkpoint<sqrt_n, Mlp>, bfloat16>(adamw) == plain);
  CHECK(run<checkpoint<recompute_all, Mlp>, bfloat16>(adamw) == plain);
  CHECK(run<fused_update<checkpoint<every<2>, Mlp>>, bfloat16>(adamw) == plain);
  const trace momentum = run<Mlp, bfloat16>(testing::momentum);
  CHECK(run<fused_update<checkpoint<sqrt_n, Mlp>>, bfloat16>(testing::momentum) == momentum);
  CHECK(plain.parameters != momentum.parameters);
}

TEST_CASE("trainer of bfloat16 and float16: the loss falls as with float") {
  const trace wide = run<Mlp, float>(adamw, 60), own = run<Mlp, bfloat16>(adamw, 60), half = run<Mlp, float16>(adamw, 60);
  CHECK(wide.losses.back() < 0.7 * wide.losses.front());
  for (std::size_t i = 0; i < wide.losses.size(); ++i) {
    CHECK(std::fabs(own.losses[i] - wide.losses[i]) < 0.05);
    CHECK(std::fabs(half.losses[i] - wide.losses[i]) < 0.01);
  }
}

TEST_CASE("trainer of bfloat16: two ranks are two micro-batches, bit for bit") {
  using Model = checkpoint<sqrt_n, Mlp>;
  std::array<std::vector<float>, 2> of_ranks;
  threads{2}.run([&](threads::rank& rank) {
    trainer<ddp<Model, threads::rank>, CrossEntropyLoss, AdamW, batch<8>, bfloat16> t{rank, adamw, {.seed = 3}};
    for (std::uint32_t step = 0; step < 3; ++step) {
      const testing::samples s(rank.rank() == 0 ? 8 : 6, 2 * step + static_cast<std::uint32_t>(rank.rank()));
      t.step(s.x, s.y);
    }
    of_ranks[static_cast<std::size_t>(rank.rank())].assign(t.parameters().begin(), t.parameters().end());
  });
  trainer<Mlp, CrossEntropyLoss, AdamW, batch<8>, bfloat16> alone{adamw, {.seed = 3}};
  for (std::uint32_t step = 0; step < 3; ++step) {
    const testing::samples first(8, 2 * step), second(6, 2 * step + 1);
    alone.accumulate(first.x, first.y);
    alone.step(second.x, second.y);
  }
  CHECK(of_ranks[0] == of_ranks[1]);
  CHECK(of_ranks[0] == std::vector<float>(alone.parameters().begin(), alone.parameters().end()));
}

// Every activation here has a multiple of 64 bytes in both types, so there is no padding, and the ratio is exactly one half.
using Even = Sequential<Linear<64, 32>, ReLU, Residual<Linear<32, 32>, GELU, Linear<32, 32>>, Dropout<>, Linear<32, 32>>;
template <class Model>
inline constexpr bool is_half = 2 * peak_activation_bytes<Model, 16, bfloat16> == peak_activation_bytes<Model, 16, float>;
static_assert(is_half<Even> && is_half<checkpoint<sqrt_n, Even>> && is_half<checkpoint<recompute_all, Even>>);
static_assert(peak_activation_bytes<Even, 16, bfloat16> == peak_activation_bytes<Even, 16, float16>);
// A row's mean and deviation stay float, and each of a plan's buffers begins at a multiple of 64 bytes.
static_assert(2 * peak_activation_bytes<Mlp, 8, bfloat16> <=
              peak_activation_bytes<Mlp, 8, float> + 2 * 8 * sizeof(float) + 16 * 64);

TEST_CASE("trainer of bfloat16: what the program sees is float, and the layers work with it rounded") {
  trainer<Mlp, CrossEntropyLoss, SGD, batch<8>, bfloat16> t{testing::momentum, {.seed = 5, .clip = clip_norm{0.1}}};
  trainer<Mlp, CrossEntropyLoss, SGD, batch<8>, float> wide{testing::momentum, {.seed = 5, .clip = clip_norm{0.1}}};
  static_assert(std::is_same_v<decltype(t.parameters()), std::span<float>>);
  static_assert(std::is_same_v<decltype(t.gradients()), std::span<float>>);
  static_assert(std::is_same_v<decltype(t.optimizer_state(0)), std::span<const float>>);
  const testing::samples s(8, 1);
  const auto values = [](auto& trainer) {
    std::vector<float> all;
    trainer.for_each([&](const auto& q) { all.insert(all.end(), q.numbers.begin(), q.numbers.end()); });
    return all;
  };
  CHECK(values(t) == values(wide)); // the initial ones, not rounded

  const auto before = t.evaluate(s.x);
  static_assert(std::is_same_v<decltype(t.evaluate(s.x)), types::owned_tensor<float>>);
  static_assert(std::is_same_v<decltype(t.forward(s.x)), types::owned_tensor<float>>);
  const auto exact = wide.evaluate(s.x);
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK(static_cast<float>(bfloat16(before[i])) == before[i]);
    CHECK(std::fabs(before[i] - exact[i]) < 0.02F);
  }
  std::vector<float> into(before.size());
  t.evaluate(s.x, std::span<float>(into));
  CHECK(into == testing::copy_of(before));
  t.evaluate_loss(s.x, s.y, [&](const tensor_view<const float>& outputs, double loss) {
    CHECK(testing::copy_of(outputs) == into);
    CHECK(std::fabs(loss - wide.evaluate_loss(s.x, s.y)) < 0.02);
  });

  // The program writes to parameters, and the next pass uses what it wrote.
  for (float& p : t.parameters()) p = 0;
  CHECK(testing::copy_of(t.evaluate(s.x)) == std::vector<float>(into.size()));
  CHECK(t.step(s.x, s.y) == doctest::Approx(std::log(4.0)));
  t.copy_parameters(trainer<checkpoint<sqrt_n, Mlp>, MSELoss, SGD, batch<2>, bfloat16>{SGD{}, {.seed = 5}});
  CHECK(testing::copy_of(t.evaluate(s.x)) == into);
  model<Mlp, batch<8>, bfloat16> alone;
  alone.copy_parameters(t);
  CHECK(testing::copy_of(alone.evaluate(s.x)) == into);

  t.step(s.x, s.y);
  wide.step(s.x, s.y);
  CHECK(t.gradient_norm() == doctest::Approx(wide.gradient_norm()).epsilon(0.05));
}

TEST_CASE("trainer of bfloat16: a gradient that the program gives is float, and so is that of the inputs") {
  using Model = with_input_gradient<Sequential<Linear<10, 24>, ReLU, Linear<24, 4>>>;
  const testing::samples s(6, 1);
  std::vector<float> targets(24, 0.25F), gradient(24);
  trainer<Model, MSELoss, SGD, batch<6>, bfloat16> by_loss{SGD{.learning_rate = 0.1}}, by_gradient{SGD{.learning_rate = 0.1}};
  const auto output = by_gradient.forward(s.x);
  for (std::size_t i = 0; i < 24; ++i) gradient[i] = 2 * (output[i] - targets[i]) / 24;
  by_loss.step(s.x, targets);
  by_gradient.step_from(s.x, gradient);
  CHECK(by_loss.checksum() == by_gradient.checksum());
  const auto of_inputs = by_loss.input_gradient();
  static_assert(std::is_same_v<decltype(by_loss.input_gradient()), types::owned_tensor<float>>);
  CHECK(of_inputs.size() == s.x.size());
  CHECK(of_inputs[0] != 0);
  CHECK(static_cast<float>(bfloat16(of_inputs[0])) == of_inputs[0]);
}

// Buffers stay float; they lie beside frozen parameters, which layers read as bfloat16. Tokens are passed as they are. A tied
// parameter is in memory once, and its gradients are added in float.
TEST_CASE("trainer of bfloat16: buffers, frozen and tied parameters, and tokens") {
  using Words = Embedding<12, 16>;
  using Net = Sequential<Inputs<integers<2>>, Words, frozen<Sequential<Linear<16, 16>, BatchNorm1d<16>>>, GELU,
                         Tied<Linear<16, 12>, Words>>;
  const std::vector<std::int32_t> tokens{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0};
  std::vector<int> targets(tokens.begin(), tokens.end());
  const auto run_on = [&](auto& t) {
    std::vector<double> losses;
    for (int step = 0; step < 20; ++step) losses.push_back(t.step(tokens, targets));
    return losses;
  };
  trainer<Net, CrossEntropyLoss, SGD, batch<6>, bfloat16> own{testing::momentum, {.seed = 2}};
  trainer<checkpoint<recompute_all, Net>, CrossEntropyLoss, SGD, batch<6>, bfloat16> other{testing::momentum, {.seed = 2}};
  trainer<Net, CrossEntropyLoss, SGD, batch<6>, float> wide{testing::momentum, {.seed = 2}};
  const std::vector<double> losses = run_on(own), exact = run_on(wide);
  CHECK(run_on(other) == losses);
  CHECK(other.checksum() == own.checksum());
  CHECK(std::vector<float>(own.buffers().begin(), own.buffers().end()) ==
        std::vector<float>(other.buffers().begin(), other.buffers().end()));
  CHECK(losses.back() < 0.5 * losses.front());
  CHECK(std::fabs(losses.back() - exact.back()) < 0.1);
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(own.buffer("1.1.running_mean")[i] == doctest::Approx(wide.buffer("1.1.running_mean")[i]).epsilon(0.1));
    CHECK(own.parameter("1.0.weight")[i] == wide.parameter("1.0.weight")[i]); // not learnt, and not rounded
  }
  // Layers read what the program wrote to a frozen parameter, too.
  for (float& w : own.parameter("1.1.weight")) w = 0;
  for (float& b : own.parameter("1.1.bias")) b = 0;
  const auto output = own.evaluate(tokens);
  for (std::size_t i = 0; i < 12; ++i) CHECK(output[i] == static_cast<float>(bfloat16(own.parameter("3.bias")[i])));
}

} // namespace trainer_narrow_tests
