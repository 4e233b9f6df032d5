// SPDX-License-Identifier: MIT
// long to compile
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/random.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/layer/tied.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"

namespace trainer_tied_tests {

using namespace cairn;

namespace {

constexpr std::size_t words = 30, width = 6, length = 3;
using Table = Embedding<words, width>;
template <class Last>
using With = Sequential<Inputs<integers<length>>, Table, Residual<LayerNorm<width>, Linear<width, width>, Dropout<percent<10>>>,
                        Flatten, Linear<length * width, width>, Last>;
using Untied = With<Linear<width, words>>;
using Net = With<Tied<Linear<width, words>, Table>>;

template <class Model>
using training = trainer<Model, CrossEntropyLoss, SGD, batch<8>>;
constexpr SGD momentum{.learning_rate = 0.1, .momentum = 0.9};

struct samples {
  std::vector<std::int32_t> tokens, next;
  samples(std::size_t rows, std::uint32_t stream) : tokens(rows * length), next(rows) {
    const types::random_key key{.seed = 5, .position = stream};
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(ops::random_bits(key, i) % words);
    for (std::size_t i = 0; i < rows; ++i) next[i] = static_cast<std::int32_t>(ops::random_bits(key, 1000 + i) % words);
  }
};

// Copies every parameter of the tied network to the untied one, by name; the table is also the weight of the untied last layer.
template <class From, class To>
void take(From& tied, To& apart) {
  tied.for_each([&](const types::named_parameter<float>& q) {
    const std::span<float> to = apart.parameter(q.name);
    std::copy(q.numbers.begin(), q.numbers.end(), to.begin());
    if (q.name == "0.weight") std::copy(q.numbers.begin(), q.numbers.end(), apart.parameter("4.weight").begin());
  });
}

std::vector<float> gradient_of(auto& train, const std::string& name) {
  std::vector<float> out;
  train.for_each_gradient([&](const types::named_parameter<float>& q) {
    if (q.name == name) out.assign(q.numbers.begin(), q.numbers.end());
  });
  REQUIRE(!out.empty());
  return out;
}

template <class Model>
std::uint64_t trained(std::size_t threads) {
  training<Model> train{momentum, {.seed = 3, .threads = threads}};
  for (std::uint32_t step = 0; step < 3; ++step) {
    const samples s(step == 1 ? 5 : 8, step);
    train.step(s.tokens, s.next);
  }
  return train.checksum();
}

} // namespace

TEST_CASE("tied: the gradient is the sum of those of two layers with equal weights") {
  training<Net> tied{momentum, {.seed = 3}};
  training<Untied> apart{momentum, {.seed = 3}};
  take(tied, apart);
  std::vector<std::string> names;
  tied.for_each([&](const types::named_parameter<float>& q) { names.push_back(q.name); });
  CHECK(std::count(names.begin(), names.end(), "4.weight") == 0); // it is there once, as torch lists it
  CHECK(std::count(names.begin(), names.end(), "4.bias") == 1);
  const samples s(7, 1);
  CHECK(tied.accumulate(s.tokens, s.next) == apart.accumulate(s.tokens, s.next));
  const std::vector<float> table = gradient_of(apart, "0.weight"), last = gradient_of(apart, "4.weight");
  const std::vector<float> both = gradient_of(tied, "0.weight");
  for (std::size_t i = 0; i < both.size(); ++i) CHECK(both[i] == table[i] + last[i]);
  for (const std::string& name : names)
    if (name != "0.weight") CHECK(gradient_of(tied, name) == gradient_of(apart, name));
  std::vector<float> a(7 * words), b(7 * words);
  tied.evaluate(s.tokens, a);
  apart.evaluate(s.tokens, b);
  CHECK(a == b);
}

TEST_CASE("tied: PyTorch's losses, gradients and parameters") {
  using Words = Embedding<9, 4>;
  using Small = Sequential<Inputs<integers<2>>, Words, Flatten, Linear<8, 4>, Tanh, Tied<Linear<4, 9>, Words>>;
  const auto tokens = reference_numbers<std::int32_t>("tied/tokens"), targets = reference_numbers<std::int32_t>("tied/targets");
  trainer<Small, CrossEntropyLoss, SGD, batch<5>, double> train{momentum};
  std::size_t next = 0;
  train.for_each([&](const types::named_parameter<double>& q) {
    const std::vector<double> from = reference_numbers<double>("tied/parameter" + std::to_string(next++));
    REQUIRE(from.size() == q.numbers.size());
    std::copy(from.begin(), from.end(), q.numbers.begin());
  });
  REQUIRE(next == 4); // the table, a weight and two biases
  std::vector<double> losses;
  for (int step = 0; step < 3; ++step) {
    losses.push_back(train.step(tokens, targets));
    if (step != 0) continue;
    std::vector<double> gradient;
    train.for_each_gradient([&](const types::named_parameter<double>& q) {
      if (q.name == "0.weight") gradient.assign(q.numbers.begin(), q.numbers.end());
    });
    CHECK(largest_difference(gradient, reference_values("tied/gradient0")) < 1e-14);
  }
  CHECK(largest_difference(losses, reference_values("tied/losses")) < 1e-14);
  next = 0;
  train.for_each([&](const types::named_parameter<double>& q) {
    const std::vector<double> trained(q.numbers.begin(), q.numbers.end());
    CHECK(largest_difference(trained, reference_values("tied/trained" + std::to_string(next++))) < 1e-14);
  });
}

TEST_CASE("tied: every policy, a fused update and two threads train to the same bits") {
  const std::uint64_t stored = trained<Net>(1);
  CHECK(trained<Net>(2) == stored);
  CHECK(trained<checkpoint<recompute_all, Net>>(1) == stored);
  CHECK(trained<checkpoint<sqrt_n, Net>>(1) == stored);
  CHECK(trained<fused_update<Net>>(1) == stored);
}

TEST_CASE("tied: ranks make the bits of micro-batches") {
  std::uint64_t of_ranks = 0;
  threads{3}.run([&](threads::rank& rank) {
    trainer<ddp<Net, threads::rank, bucket_bytes<64>>, CrossEntropyLoss, SGD, batch<8>> train{rank, momentum, {.seed = 3}};
    for (std::uint32_t step = 0; step < 3; ++step) {
      const samples s(8, 10 * step + static_cast<std::uint32_t>(rank.rank()));
      train.step(s.tokens, s.next);
    }
    if (rank.rank() == 0) of_ranks = train.checksum();
  });
  training<Net> alone{momentum, {.seed = 3}};
  for (std::uint32_t step = 0; step < 3; ++step)
    for (std::uint32_t r = 0; r < 3; ++r) {
      const samples s(8, 10 * step + r);
      if (r < 2) alone.accumulate(s.tokens, s.next);
      else alone.step(s.tokens, s.next);
    }
  CHECK(alone.checksum() == of_ranks);
}

TEST_CASE("tied: a model takes it from a trainer") {
  training<checkpoint<sqrt_n, Net>> train{momentum, {.seed = 3}};
  model<Net, batch<8>> net{{.seed = 4}};
  net.copy_parameters(train);
  const samples s(8, 2);
  const auto from_model = net.evaluate(s.tokens);
  const auto from_trainer = train.evaluate(s.tokens);
  CHECK(std::equal(from_model.begin(), from_model.end(), from_trainer.begin(), from_trainer.end()));
}

} // namespace trainer_tied_tests
