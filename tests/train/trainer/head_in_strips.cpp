// SPDX-License-Identifier: MIT
// long to compile
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/random.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/head_in_strips.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/layer/tied.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/measured_costs.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"

namespace trainer_head_in_strips_tests {

using namespace cairn;

namespace {

constexpr std::size_t words = 70, width = 6, length = 3;
using Table = Embedding<words, width>;
// Tanh reads its output in backward, so the head cannot work in its place; LayerNorm does not.
template <class Last, class Before = Tanh>
using With = Sequential<Inputs<integers<length>>, Table, Linear<width, width>, Before, Last>;
using Layer = Linear<width, words>;
using Whole = With<Layer>;
using Strips = With<head_in_strips<Layer, 5>>; // of 24 rows: 5, 5, 5, 5, 4; of 15: 5, 5, 5
using Tails = With<head_in_strips<Layer, 5>, LayerNorm<width>>;
using Shared = With<head_in_strips<Tied<Layer, Table>, 5>>;

template <class Model, class T = float>
using training = trainer<Model, CrossEntropyLoss, SGD, batch<8>, T>;
constexpr SGD momentum{.learning_rate = 0.1, .momentum = 0.9};

struct samples {
  std::vector<std::int32_t> tokens, next;
  samples(std::size_t rows, std::uint32_t stream) : tokens(rows * length), next(rows * length) {
    const types::random_key key{.seed = 5, .position = stream};
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(ops::random_bits(key, i) % words);
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = static_cast<std::int32_t>(ops::random_bits(key, 1000 + i) % words);
  }
};

template <class T>
struct named {
  std::string name;
  std::vector<T> numbers;
};
template <class Sum>
std::vector<named<Sum>> gradients_of(auto& train) {
  std::vector<named<Sum>> out;
  train.for_each_gradient(
      [&](const types::named_parameter<Sum>& q) { out.push_back({q.name, {q.numbers.begin(), q.numbers.end()}}); });
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
template <class Model>
void every_way() {
  const std::uint64_t stored = trained<Model>(1);
  CHECK(trained<Model>(2) == stored);
  CHECK(trained<checkpoint<recompute_all, Model>>(1) == stored);
  CHECK(trained<checkpoint<sqrt_n, Model>>(1) == stored);
  CHECK(trained<fused_update<Model>>(1) == stored);
}

// Compares a step in strips with one of the whole layer, under some loss: the gradients of all below the head have the same
// bits, those of the head and the loss are sums in another order.
template <class InStrips, class AsWhole, class T>
void compare(const CrossEntropyLoss& loss, const samples& s, double tolerance) {
  using sum = accumulated<T>;
  training<InStrips, T> strips{momentum, {.seed = 3, .loss = loss}};
  training<AsWhole, T> whole{momentum, {.seed = 3, .loss = loss}};
  CHECK(strips.accumulate(s.tokens, s.next) == doctest::Approx(whole.accumulate(s.tokens, s.next)).epsilon(tolerance));
  const auto a = gradients_of<sum>(strips), b = gradients_of<sum>(whole);
  REQUIRE(a.size() == b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    CHECK(a[k].name == b[k].name);
    if (k < 3) CHECK(a[k].numbers == b[k].numbers);
    else CHECK(largest_difference(a[k].numbers, std::vector<double>(b[k].numbers.begin(), b[k].numbers.end())) < tolerance);
  }
  CHECK(std::any_of(a.back().numbers.begin(), a.back().numbers.end(), [](sum g) { return g != 0; }));
  CHECK(strips.evaluate_loss(s.tokens, s.next) == whole.evaluate_loss(s.tokens, s.next));
}

} // namespace

TEST_CASE("head_in_strips: the loss and the gradients of the whole layer") {
  const samples s(7, 1);
  compare<Strips, Whole, double>({}, s, 1e-14);
  compare<Strips, Whole, float>({}, s, 1e-6);
  compare<Tails, With<Layer, LayerNorm<width>>, double>({}, s, 1e-14);
  samples ignored = s;
  for (const std::size_t i : {0U, 4U, 5U, 20U}) ignored.next[i] = -100;
  std::vector<double> weights(words);
  for (std::size_t c = 0; c < words; ++c) weights[c] = 0.5 + static_cast<double>(c % 3);
  compare<Strips, Whole, double>({.ignore_index = -100}, ignored, 1e-14);
  compare<Strips, Whole, double>(
      {.ignore_index = -100, .label_smoothing = 0.2, .weight = types::class_weights(std::span<const double>(weights))}, ignored,
      1e-14);
  std::fill(ignored.next.begin(), ignored.next.end(), -100);
  training<Strips> none{momentum, {.seed = 3, .loss = {.ignore_index = -100}}};
  CHECK(none.accumulate(ignored.tokens, ignored.next) == 0);
}

TEST_CASE("head_in_strips: 16-bit elements") { compare<Strips, Whole, bfloat16>({}, samples(7, 1), 1e-5); }

TEST_CASE("head_in_strips: PyTorch's losses and parameters, with a tied weight") {
  using Words = Embedding<9, 4>;
  using Small = Sequential<Inputs<integers<2>>, Words, Flatten, Linear<8, 4>, Tanh, head_in_strips<Tied<Linear<4, 9>, Words>, 2>>;
  const auto tokens = reference_numbers<std::int32_t>("tied/tokens"), targets = reference_numbers<std::int32_t>("tied/targets");
  training<Small, double> train{momentum};
  std::size_t next = 0;
  train.for_each([&](const types::named_parameter<double>& q) {
    const std::vector<double> from = reference_numbers<double>("tied/parameter" + std::to_string(next++));
    REQUIRE(from.size() == q.numbers.size());
    std::copy(from.begin(), from.end(), q.numbers.begin());
  });
  REQUIRE(next == 4);
  std::vector<double> losses;
  for (int step = 0; step < 3; ++step) losses.push_back(train.step(tokens, targets));
  CHECK(largest_difference(losses, reference_values("tied/losses")) < 1e-14);
  next = 0;
  train.for_each([&](const types::named_parameter<double>& q) {
    const std::vector<double> trained(q.numbers.begin(), q.numbers.end());
    CHECK(largest_difference(trained, reference_values("tied/trained" + std::to_string(next++))) < 1e-14);
  });
}

TEST_CASE("head_in_strips: every policy, a fused update and two threads train to the same bits") {
  every_way<Strips>();
  every_way<Tails>();
  every_way<Shared>();
}

TEST_CASE("head_in_strips: ranks make the bits of micro-batches") {
  std::uint64_t of_ranks = 0;
  threads{3}.run([&](threads::rank& rank) {
    trainer<ddp<Shared, threads::rank, bucket_bytes<64>>, CrossEntropyLoss, SGD, batch<8>> train{rank, momentum, {.seed = 3}};
    for (std::uint32_t step = 0; step < 3; ++step) {
      const samples s(8, 10 * step + static_cast<std::uint32_t>(rank.rank()));
      train.step(s.tokens, s.next);
    }
    if (rank.rank() == 0) of_ranks = train.checksum();
  });
  training<Shared> alone{momentum, {.seed = 3}};
  for (std::uint32_t step = 0; step < 3; ++step)
    for (std::uint32_t r = 0; r < 3; ++r) {
      const samples s(8, 10 * step + r);
      if (r < 2) alone.accumulate(s.tokens, s.next);
      else alone.step(s.tokens, s.next);
    }
  CHECK(alone.checksum() == of_ranks);
}

TEST_CASE("head_in_strips: at GPT-2's sizes a step takes 58 MiB in place of 797") {
  constexpr std::size_t vocabulary = 50257, channels = 768, tokens = 1024;
  using Tokens = Inputs<integers<tokens>>;
  using Body = Embedding<vocabulary, channels>;
  using Last = Linear<channels, vocabulary>;
  using Kept = Sequential<Tokens, Body, LayerNorm<channels>, Last>;
  using Cut = Sequential<Tokens, Body, LayerNorm<channels>, head_in_strips<Last>>;
  static_assert(peak_activation_bytes<checkpoint<recompute_all, Kept>, 4> > 797_MiB);
  static_assert(peak_activation_bytes<checkpoint<recompute_all, Cut>, 4> < 59_MiB);
  // A batch of fewer rows than a strip has takes no more than the whole output, and one row of sums.
  static_assert(peak_activation_bytes<With<head_in_strips<Layer>>, 8> <= peak_activation_bytes<Whole, 8> + 320);
}

TEST_CASE("head_in_strips: a trainer holds whole outputs only once it evaluates") {
  using Wide = Sequential<Input<4>, Linear<4, 8>, Tanh, head_in_strips<Linear<8, 1000>, 4>>;
  trainer<Wide, CrossEntropyLoss, SGD, batch<64>> train{momentum, {.seed = 3}};
  CHECK(train.arena_bytes() == peak_activation_bytes<Wide, 64>);
  CHECK(train.arena_bytes() < 64 * 1000 * sizeof(float));
  CHECK(train.memory().activations == train.arena_bytes());
  const std::vector<float> inputs(64 * 4, 0.5F);
  const std::vector<int> targets(64, 3);
  const double before = train.evaluate_loss(inputs, targets);
  CHECK(train.step(inputs, targets) == doctest::Approx(before).epsilon(1e-6));
  CHECK(train.evaluate_loss(inputs, targets) < before);
  CHECK(train.evaluate(inputs).sample_shape() == shape{1000});
}

TEST_CASE("head_in_strips: a model of the layer alone takes the weights") {
  training<Strips> train{momentum, {.seed = 3}};
  model<Whole, batch<8>> net{{.seed = 4}};
  net.copy_parameters(train);
  const samples s(8, 2);
  const auto from_model = net.evaluate(s.tokens), from_trainer = train.evaluate(s.tokens);
  CHECK(std::equal(from_model.begin(), from_model.end(), from_trainer.begin(), from_trainer.end()));
}

TEST_CASE("head_in_strips: a loss that is no number is found before the update") {
  training<Strips> train{momentum, {.seed = 3, .check_loss = true}};
  const samples s(8, 2);
  train.step(s.tokens, s.next);
  train.parameter("3.bias")[0] = std::numeric_limits<float>::infinity();
  const std::uint64_t before = train.checksum();
  CHECK_THROWS_WITH_AS(train.step(s.tokens, s.next), doctest::Contains("expected a finite loss"), error);
  CHECK(train.checksum() == before);
}

TEST_CASE("head_in_strips: its backward is the work of the head") {
  const auto costs = plan::measured_costs<Strips, 8>();
  REQUIRE(costs.size() == 5);
  CHECK(costs.back().backward > costs.back().forward);
  using typed = blueprint_of<Strips, 8>;
  static_assert(typed::stages[4].forward_flops == 0);
  static_assert(typed::stages[4].backward_flops ==
                blueprint_of<Whole, 8>::stages[4].backward_flops + blueprint_of<Whole, 8>::stages[4].forward_flops);
}

} // namespace trainer_head_in_strips_tests
