// SPDX-License-Identifier: MIT
// Layers of sequences as a part of a network that is trained: what must not change a bit of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/core/random.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

namespace testing {

// Sequences of 6 tokens, each a vector of 8 elements when the layers get it.
template <class... Layers>
using sequences = cairn::Sequential<cairn::Inputs<cairn::integers<6>>, cairn::Embedding<11, 8>, Layers..., cairn::Tanh,
                                    cairn::Linear<8, 8>, cairn::Tanh, cairn::Flatten, cairn::Linear<48, 4>>;

struct some_sequences {
  std::vector<std::int32_t> tokens, labels;

  some_sequences(std::size_t rows, std::uint32_t stream) {
    const cairn::types::random_key key{.seed = 4, .position = stream};
    for (std::size_t i = 0; i < rows * 6; ++i) tokens.push_back(static_cast<std::int32_t>(cairn::ops::random_bits(key, i) % 11));
    for (std::size_t i = 0; i < rows; ++i)
      labels.push_back(static_cast<std::int32_t>(cairn::ops::random_bits(key, 1000 + i) % 4));
  }
  // Those of a rank, or of the micro-batch of that number on one rank.
  static some_sequences of_rank(int rank) { return {rank == 1 ? 4U : 6U, static_cast<std::uint32_t>(50 + rank)}; }
};

struct sequences_run {
  std::vector<double> losses;
  std::map<std::string, std::vector<float>> weights;

  bool operator==(const sequences_run&) const = default;
  // All weights one after another, without the names that a nested network changes.
  std::vector<float> values() const {
    std::vector<float> all;
    for (const auto& [name, numbers] : weights) all.insert(all.end(), numbers.begin(), numbers.end());
    return all;
  }
  const std::vector<float>& named(const std::string& name) const { return weights.at(name); }

  template <class Trainer>
  void keep(Trainer& train) {
    train.for_each([&](const auto& p) {
      for (const auto number : p.numbers) weights[p.name].push_back(static_cast<float>(number));
    });
  }
};

template <class Model, class T = float>
using trainer_of_sequences = cairn::trainer<Model, cairn::CrossEntropyLoss, cairn::SGD, cairn::batch<6>, T>;
inline constexpr cairn::SGD optimizer_of_sequences{.learning_rate = 0.05, .momentum = 0.9};

template <class Model, class T = float>
sequences_run train_sequences(std::uint32_t steps = 3, std::size_t threads = 1) {
  trainer_of_sequences<Model, T> train{optimizer_of_sequences, {.seed = 2, .threads = threads}};
  sequences_run out;
  for (std::uint32_t step = 0; step < steps; ++step) {
    const some_sequences s(step == 1 ? 4 : 6, step);
    out.losses.push_back(train.step(s.tokens, s.labels));
  }
  out.keep(train);
  return out;
}

template <class Model>
sequences_run train_micro_batches(int count) {
  trainer_of_sequences<Model> train{optimizer_of_sequences, {.seed = 2}};
  sequences_run out;
  for (int m = 0; m < count; ++m) {
    const some_sequences s = some_sequences::of_rank(m);
    if (m + 1 < count) train.accumulate(s.tokens, s.labels);
    else train.step(s.tokens, s.labels);
  }
  out.keep(train);
  return out;
}
template <class Model>
std::vector<sequences_run> train_ranks(int count) {
  std::vector<sequences_run> out(static_cast<std::size_t>(count));
  cairn::threads{count}.run([&](cairn::threads::rank& rank) {
    trainer_of_sequences<cairn::ddp<Model, cairn::threads::rank, cairn::bucket_bytes<1000>>> train{
        rank, optimizer_of_sequences, {.seed = 2}};
    const some_sequences s = some_sequences::of_rank(rank.rank());
    train.step(s.tokens, s.labels);
    out[static_cast<std::size_t>(rank.rank())].keep(train);
  });
  return out;
}

// Checks that a network with these layers has the same bits under every policy and with two threads, that 1, 2 and 3 ranks have
// those of as many micro-batches, and that losses of elements of 16 bits are near those of float.
template <class... Layers>
void check_sequences() {
  using namespace cairn;
  using Net = sequences<Layers...>;
  const sequences_run plain = train_sequences<Net>();
  CHECK(plain.losses[2] != plain.losses[0]);
  CHECK(train_sequences<checkpoint<recompute_all, Net>>() == plain);
  CHECK(train_sequences<checkpoint<recompute_cheap, Net>>() == plain);
  CHECK(train_sequences<checkpoint<sqrt_n, Net>>() == plain);
  CHECK(train_sequences<checkpoint<every<2>, Net>>() == plain);
  CHECK(train_sequences<checkpoint<budget_fraction<95>, Net>>() == plain);
  CHECK(train_sequences<sequences<checkpoint<recompute_all, Sequential<Layers...>>>>().values() == plain.values());
  CHECK(train_sequences<Net>(3, 2) == plain);
  for (const int ranks : {1, 2, 3}) {
    const sequences_run alone = train_micro_batches<Net>(ranks);
    for (const sequences_run& rank : train_ranks<Net>(ranks)) CHECK(rank == alone);
  }
  const auto narrow = [&]<class T>(T) {
    const sequences_run stored = train_sequences<Net, T>();
    for (std::size_t step = 0; step < 3; ++step) CHECK(stored.losses[step] == doctest::Approx(plain.losses[step]).epsilon(0.02));
    CHECK(train_sequences<checkpoint<recompute_all, Net>, T>() == stored);
  };
  narrow(bfloat16{});
  narrow(float16{});
}

} // namespace testing
