// SPDX-License-Identifier: MIT
// long to compile
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/error.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

namespace trainer_tokens_tests {

using namespace cairn;

namespace {

constexpr std::size_t words = 5, vocabulary = 11, classes = 4;

// Takes tokens, and has batch statistics in every block: a block normalizes first, or last.
using First = Residual<BatchNorm1d<8>, ReLU, Linear<8, 8>>;
using Last = Residual<Linear<8, 8>, BatchNorm1d<8>, ReLU>;
template <class Blocks>
using With =
    Sequential<Inputs<integers<words>>, Embedding<vocabulary, 8>, BatchNorm1d<8>, Blocks, Flatten, Linear<words * 8, classes>>;
using Net = With<Repeat<3, Sequential<First, Last>>>;
template <class Policy>
using Nested = With<checkpoint<Policy, Repeat<3, Sequential<First, checkpoint<recompute_all, Last>>>>>;

template <class Model>
using training = trainer<Model, CrossEntropyLoss, SGD, batch<6>>;
constexpr SGD momentum{.learning_rate = 0.05, .momentum = 0.9};

struct samples {
  std::vector<std::int32_t> tokens, labels;

  samples(std::size_t rows, std::uint32_t stream) {
    const types::random_key key{.seed = 4, .position = stream};
    for (std::size_t i = 0; i < rows * words; ++i)
      tokens.push_back(static_cast<std::int32_t>(ops::random_bits(key, i) % vocabulary));
    for (std::size_t i = 0; i < rows; ++i) labels.push_back(static_cast<std::int32_t>(ops::random_bits(key, 1000 + i) % classes));
  }
};

// The results of training, and the outputs of the trained network.
struct trace {
  std::vector<double> losses;
  std::vector<float> buffers, evaluated;
  std::uint64_t weights = 0;

  bool operator==(const trace&) const = default;

  template <class Trainer>
  void end(Trainer& train) {
    buffers.assign(train.buffers().begin(), train.buffers().end());
    weights = train.checksum();
    const auto outputs = train.evaluate(samples(5, 99).tokens);
    evaluated.assign(outputs.begin(), outputs.end());
  }
};

template <class Model>
trace learn(std::size_t threads = 1) {
  training<Model> train{momentum, {.seed = 2, .threads = threads}};
  trace out;
  for (std::uint32_t step = 0; step < 3; ++step) {
    const samples s(step == 1 ? 4 : 6, step);
    out.losses.push_back(train.step(s.tokens, s.labels));
  }
  out.end(train);
  return out;
}

// The samples of a rank, or of the micro-batch of that number on one rank.
samples of_rank(int rank) { return samples(rank == 1 ? 4 : 6, static_cast<std::uint32_t>(50 + rank)); }

trace alone(int micro_batches) {
  training<Net> train{momentum, {.seed = 2}};
  trace out;
  for (int m = 0; m < micro_batches; ++m) {
    const samples s = of_rank(m);
    out.losses.push_back(m + 1 < micro_batches ? train.accumulate(s.tokens, s.labels) : train.step(s.tokens, s.labels));
  }
  out.end(train);
  return out;
}

template <class Model>
std::vector<trace> together(int ranks) {
  std::vector<trace> out(static_cast<std::size_t>(ranks));
  threads{ranks}.run([&](threads::rank& rank) {
    training<ddp<Model, threads::rank, bucket_bytes<1000>>> train{rank, momentum, {.seed = 2}};
    const samples s = of_rank(rank.rank());
    trace& own = out[static_cast<std::size_t>(rank.rank())];
    own.losses.push_back(train.step(s.tokens, s.labels));
    own.end(train);
  });
  return out;
}

} // namespace

TEST_CASE("trainer: tokens and batch statistics have the same bits under every policy") {
  const trace plain = learn<Net>();
  CHECK(plain.losses[2] != plain.losses[0]);
  CHECK(learn<checkpoint<sqrt_n, Net>>() == plain);
  CHECK(learn<checkpoint<recompute_cheap, Net>>() == plain);
  CHECK(learn<checkpoint<budget_fraction<70>, Net>>() == plain);
#ifdef CAIRN_LONG_TESTS
  CHECK(learn<checkpoint<recompute_all, Net>>() == plain);
  CHECK(learn<checkpoint<every<2>, Net>>() == plain);
  CHECK(learn<checkpoint<revolve<2>, Net>>() == plain);
  CHECK(learn<checkpoint<at<2, 5>, Net>>() == plain);
#endif
  CHECK(learn<fused_update<checkpoint<sqrt_n, Net>>>() == plain);
  CHECK(learn<Net>(2) == plain);
}

TEST_CASE("trainer: tokens and batch statistics have the same bits in a checkpoint inside a checkpoint") {
  const trace plain = learn<Net>();
  CHECK(learn<checkpoint<recompute_all, Nested<sqrt_n>>>() == plain);
#ifdef CAIRN_LONG_TESTS
  CHECK(learn<Nested<store_all>>() == plain);
  CHECK(learn<Nested<recompute_all>>() == plain);
#endif
}

TEST_CASE("trainer: running statistics move once a step") {
  using Small = Sequential<BatchNorm1d<2>, Linear<2, 2>>;
  trainer<checkpoint<recompute_all, Small>, MSELoss, SGD, batch<2>, double> train{SGD{}, {.seed = 1}};
  const std::vector<double> x{1, 10, 3, 14}, y(4); // means 2 and 12, variances without bias 2 and 8
  train.step(x, y);
  train.for_each_buffer([](const types::named_parameter<double>& b) {
    const bool mean = b.name == "0.running_mean";
    CHECK((mean || b.name == "0.running_var"));
    CHECK(b.numbers[0] == doctest::Approx(mean ? 0.2 : 1.1));
    CHECK(b.numbers[1] == doctest::Approx(mean ? 1.2 : 1.7));
  });
  const auto before = std::vector<double>(train.buffers().begin(), train.buffers().end());
  train.evaluate(x);
  CHECK(std::vector<double>(train.buffers().begin(), train.buffers().end()) == before);
}

TEST_CASE("trainer: a frozen Embedding keeps its weight, and frozen batch statistics go on to move") {
  using Frozen = Sequential<Inputs<integers<words>>, frozen<Sequential<Embedding<vocabulary, 8>, BatchNorm1d<8>>>, First,
                            frozen<Last>, Flatten, Linear<words * 8, classes>>;
  const trace plain = learn<Frozen>();
  CHECK(learn<checkpoint<recompute_all, Frozen>>() == plain);
  training<Frozen> train{momentum, {.seed = 2}};
  const auto all = [&train] {
    std::vector<std::vector<float>> out;
    train.for_each([&out](const types::named_parameter<float>& p) { out.emplace_back(p.numbers.begin(), p.numbers.end()); });
    train.for_each_buffer(
        [&out](const types::named_parameter<float>& b) { out.emplace_back(b.numbers.begin(), b.numbers.end()); });
    return out;
  };
  const auto before = all();
  const samples s(6, 0);
  train.step(s.tokens, s.labels);
  const auto after = all();
  REQUIRE(before.size() == 3 + 4 + 4 + 2 + 6);
  const auto changed = [&](std::size_t first, std::size_t count) {
    std::size_t sum = 0;
    for (std::size_t k = first; k < first + count; ++k) sum += before[k] != after[k] ? 1U : 0U;
    return sum;
  };
  CHECK(changed(0, 3) == 0);  // the Embedding and its statistics' weight and bias
  CHECK(changed(3, 4) == 4);  // First
  CHECK(changed(7, 4) == 0);  // Last
  CHECK(changed(11, 8) == 8); // Linear, and all running statistics
}

TEST_CASE("ddp: ranks with batch statistics are micro-batches of one rank, and each moves its own") {
  for (int ranks = 1; ranks <= 3; ++ranks) {
    CAPTURE(ranks);
    const trace want = alone(ranks);
    for (const auto& got : {together<Net>(ranks), together<checkpoint<sqrt_n, Net>>(ranks), together<Nested<every<2>>>(ranks)}) {
      CHECK(got[0].buffers == alone(1).buffers);
      for (int r = 0; r < ranks; ++r) {
        const trace& own = got[static_cast<std::size_t>(r)];
        CHECK(own.weights == want.weights);
        CHECK(own.losses[0] == want.losses[static_cast<std::size_t>(r)]);
        CHECK((own.buffers == got[0].buffers) == (r == 0));
      }
    }
  }
}

TEST_CASE("model: takes the running statistics of a trainer") {
  training<Net> train{momentum, {.seed = 2}};
  const samples s(6, 7);
  train.step(s.tokens, s.labels);
  model<Net, batch<5>> net;
  net.copy_parameters(train);
  const samples few(5, 8);
  const auto a = train.evaluate(few.tokens), b = net.evaluate(few.tokens);
  CHECK(std::vector<float>(a.begin(), a.end()) == std::vector<float>(b.begin(), b.end()));
}

TEST_CASE("trainer: a token that the vocabulary does not have is refused, and nothing has changed") {
  training<checkpoint<sqrt_n, Net>> train{momentum, {.seed = 2}};
  samples s(6, 7);
  s.tokens[13] = vocabulary;
  const auto weights = train.checksum();
  const std::vector<float> before(train.buffers().begin(), train.buffers().end());
  CHECK_THROWS_WITH_AS(train.step(s.tokens, s.labels), doctest::Contains("index 13 is 11, but the vocabulary is 0 to 10"), error);
  CHECK(train.checksum() == weights);
  CHECK(std::vector<float>(train.buffers().begin(), train.buffers().end()) == before);
}

} // namespace trainer_tokens_tests
