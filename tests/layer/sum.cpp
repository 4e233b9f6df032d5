// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/layer/sum.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/gradient_check.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/learned_positions.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/layer/tied.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../reference/differences.hpp"
#include "../reference/values.hpp"
#include "alone.hpp"
#include "given.hpp"

namespace sum_tests {

using namespace cairn;

namespace {

constexpr tensor three = tensor{3}.of(element::int32);
using Words = Embedding<11, 6>;
using Segments = Embedding<2, 6>;
using Both = Sum<Words, Segments>;

template <class T>
double distance_from_torch() {
  alone<Both, T> own({three, three}, 2);
  auto x = own.some_inputs();
  auto dy = own.some_outputs();
  const auto words = reference_numbers<std::int32_t>("sum/words"), segments = reference_numbers<std::int32_t>("sum/segments");
  std::copy(words.begin(), words.end(), x.view().integers(0));
  std::copy(segments.begin(), segments.end(), x.view().integers(1));
  dy.assign(0, reference_numbers<T>("sum/output_gradient"));
  for (const std::size_t k : {0U, 1U}) own.parameters.assign(k, reference_numbers<T>("sum/parameter" + std::to_string(k)));
  const auto y = own.forward(x);
  own.backward(x, y, dy, {.wanted = 0});
  double largest = largest_difference(y.values(), reference_values("sum/output"));
  for (const std::size_t k : {0U, 1U})
    largest =
        std::max(largest, largest_difference(own.gradients.values(k), reference_values("sum/gradient" + std::to_string(k))));
  return largest;
}

// BERT in small: words and segments, positions, and a head with the words' weight.
template <class Embeddings = Both>
using Net = Sequential<Inputs<integers<3>, integers<3>>, Embeddings, LearnedPositions<3, 6>, Tanh, Linear<6, 6>, Tanh,
                       Tied<Linear<6, 11>, Both>>;
constexpr SGD momentum{.learning_rate = 0.1, .momentum = 0.9};

struct samples {
  std::vector<std::int32_t> words, segments, labels;

  samples(std::size_t rows, std::uint32_t stream) {
    const types::random_key key{.seed = 4, .position = stream};
    for (std::size_t i = 0; i < rows * 3; ++i) {
      words.push_back(static_cast<std::int32_t>(ops::random_bits(key, i) % 11));
      segments.push_back(static_cast<std::int32_t>(ops::random_bits(key, 1000 + i) % 2));
      labels.push_back(static_cast<std::int32_t>(ops::random_bits(key, 2000 + i) % 11));
    }
  }
};
using weights = std::map<std::string, std::vector<float>>;
template <class Trainer>
weights weights_of(const Trainer& train) {
  weights all;
  train.for_each([&](const auto& p) { all[p.name].assign(p.numbers.begin(), p.numbers.end()); });
  return all;
}
template <class Model>
weights learn(std::uint32_t steps = 2, std::uint32_t micro_batches = 1) {
  trainer<Model, CrossEntropyLoss, SGD, batch<5>> train{momentum, {.seed = 2}};
  for (std::uint32_t step = 0; step < steps; ++step)
    for (std::uint32_t m = 0; m < micro_batches; ++m) {
      const samples s(m == 1 ? 4 : 5, 10 * step + m);
      if (m + 1 < micro_batches) train.accumulate(inputs(s.words, s.segments), s.labels);
      else train.step(inputs(s.words, s.segments), s.labels);
    }
  return weights_of(train);
}

} // namespace

static_assert(layer<Both> && Both::takes == 2 && Both::backward_reads == reads::input && Both::skips_gradients);
static_assert(Both::accepts(given{three, three}) && Both::outputs(given{three, three}) == tensor{3, 6});
static_assert(!Both::accepts(given{three, tensor{4}.of(element::int32)}) && !Both::accepts(given{three, {3, 6}}));
static_assert(!Sum<Words, Embedding<2, 7>>::accepts(given{three, three}));
static_assert(Both::parameters(given{three, three}).count == 2 && Both::parameters(given{three, three})[0].name == "0.weight" &&
              Both::parameters(given{three, three})[1].name == "1.weight");
static_assert(!Sum<Words>::options_are_right && !Sum<Words, Tanh>::options_are_right);

TEST_CASE("Sum: gradients") {
  CHECK(gradient_fault<Sum<Words, Embedding<3, 6>>>({three, three}) == "");
  CHECK(gradient_fault<Sum<Linear<4, 3>, Linear<2, 3, false>>>({{4}, {2}}) == "");
  CHECK(gradient_fault<Sum<Linear<4, 3>, Embedding<5, 3>, Linear<2, 3>>>({{2, 4}, tensor{2}.of(element::int32), {2, 2}}) == "");
}

TEST_CASE("Sum: PyTorch's numbers") {
  CHECK(distance_from_torch<double>() < 1e-12);
  CHECK(distance_from_torch<float>() < 1e-6);
}

TEST_CASE("Sum: every policy has the same bits, and ranks those of as many micro-batches") {
  const weights plain = learn<Net<>>();
  CHECK(plain != learn<Net<>>(0));
  CHECK(plain.count("0.0.weight") == 1);
  CHECK(plain.count("0.1.weight") == 1);
  CHECK(plain.size() == 6); // the head has the words' weight, and a bias of its own
  CHECK(learn<checkpoint<recompute_all, Net<>>>() == plain);
  CHECK(learn<checkpoint<sqrt_n, Net<>>>() == plain);
  CHECK(learn<checkpoint<every<2>, Net<>>>() == plain);
  for (const std::uint32_t ranks : {1U, 2U, 3U}) {
    const weights alone = learn<Net<>>(2, ranks);
    threads{static_cast<int>(ranks)}.run([&](threads::rank& rank) {
      trainer<ddp<Net<>, threads::rank>, CrossEntropyLoss, SGD, batch<5>> train{rank, momentum, {.seed = 2}};
      const auto m = static_cast<std::uint32_t>(rank.rank());
      for (std::uint32_t step = 0; step < 2; ++step) {
        const samples s(m == 1 ? 4 : 5, 10 * step + m);
        train.step(inputs(s.words, s.segments), s.labels);
      }
      CHECK(weights_of(train) == alone);
    });
  }
}

} // namespace sum_tests
