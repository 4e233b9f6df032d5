// SPDX-License-Identifier: MIT
// Transformers in training: attention, every kind of positions, and a head in strips.
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/train/ddp.hpp>
#include <doctest/doctest.h>

#include "agree.hpp"

namespace cuda_transformers_tests {

using namespace cairn;

namespace {

constexpr std::size_t most_rows = 4, tokens = 7, words = 9, width = 8;

using Table = Embedding<words, width>;
using Text = Sequential<
    Inputs<integers<tokens>>, Table, LearnedPositions<tokens + 2, width>,
    TransformerEncoderLayer<width, 2, 16, attention::norm_first, GELU, attention::causal, Dropout<percent<10>>>,
    SinusoidalPositions, TransformerEncoderLayer<width, 4, 12, attention::norm<RMSNorm<width>>>,
    Residual<LayerNorm<width>, MultiheadAttention<width, 4, attention::window<3>, attention::key_heads<2>>>,
    Residual<RMSNorm<width>, Linear<width, 2 * width>, RotaryEmbedding<2, 1>, attention::core<2, attention::key_heads<1>>>,
    LayerNorm<width>, Tied<Linear<width, words>, Table>>;

// With everything that an attention may have besides a mask of places.
using Masked = Sequential<Inputs<dims<tokens, width>, batch_constant<4, tokens, tokens>, integer_constant<>>,
                          TransformerEncoderLayer<width, 4, 12, attention::norm_first, attention::causal, attention::key_lengths,
                                                  attention::dropout<percent<20>>, attention::added_mask>,
                          MultiheadAttention<width, 2, attention::key_lengths>, LayerNorm<width>, Linear<width, words>>;

// Its head and its loss are made in strips of 8 rows, of 28 or 21: a strip adds to the gradients of those before it.
template <class Head>
using Short = Sequential<Inputs<integers<tokens>>, Table, TransformerEncoderLayer<width, 2, 12, attention::causal>, Head>;
using Strips = Short<head_in_strips<Linear<width, words>, 8>>;
using TiedStrips = Short<head_in_strips<Tied<Linear<width, words>, Table>, 8>>;

struct text {
  std::vector<int> x, y;
  text(std::size_t rows, std::uint32_t which) : x(rows * tokens), y(rows * tokens) {
    const types::random_key key{.seed = 11, .position = which};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(ops::random_bits(key, i) % words);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int>(ops::random_bits(key, 100'000 + i) % words);
  }
  const std::vector<int>& given() const { return x; }
};
template <class T>
struct masked_text {
  std::vector<T> x, mask;
  std::vector<std::int32_t> lengths;
  std::vector<int> y;
  masked_text(std::size_t rows, std::uint32_t which)
      : x(rows * tokens * width), mask(4 * tokens * tokens), lengths(rows), y(text(rows, which).y) {
    const types::random_key key{.seed = 12, .position = which};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(2 * ops::random_uniform<float>(key, i) - 1);
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % 7 == 3 ? -static_cast<T>(INFINITY) : -static_cast<T>(i % 11) / 8;
    for (std::size_t r = 0; r < rows; ++r) lengths[r] = static_cast<std::int32_t>((which + 3 * r) % (tokens + 1));
  }
  auto given() const { return inputs(x, mask, lengths); }
};

// What a network reads.
template <class Net, class T>
using text_of = std::conditional_t<std::is_same_v<Net, Masked>, masked_text<T>, text>;

// Trains for three steps, of which one has fewer samples. The result: the losses, the parameters, and an evaluation.
template <class Net, class T, class Device, class Policy = Net>
std::vector<T> trained() {
  trainer<Policy, CrossEntropyLoss, SGD, batch<most_rows>, T, Device> train{{.learning_rate = 0.05, .momentum = 0.9},
                                                                            {.seed = 5}};
  std::vector<T> seen;
  for (std::uint32_t step = 0; step < 3; ++step) {
    const text_of<Net, T> given(step == 1 ? 3 : most_rows, step);
    seen.push_back(static_cast<T>(double{train.step(given.given(), given.y)}));
  }
  train.for_each([&](const auto& q) { seen.insert(seen.end(), q.numbers.begin(), q.numbers.end()); });
  const text_of<Net, T> last(most_rows, 100);
  const auto scores = train.evaluate(last.given());
  seen.insert(seen.end(), scores.begin(), scores.end());
  return seen;
}

template <class Trainer>
auto parameters(Trainer& train) {
  std::vector<float> all;
  train.for_each([&](const auto& q) { all.insert(all.end(), q.numbers.begin(), q.numbers.end()); });
  return all;
}
// The parameters after two steps of two micro-batches.
template <class Net>
std::vector<float> from_micro_batches() {
  trainer<Net, CrossEntropyLoss, SGD, batch<most_rows>, float, cuda> train{{.learning_rate = 0.05}, {.seed = 5}};
  for (std::uint32_t step = 0; step < 2; ++step) {
    const text_of<Net, float> first(most_rows, 2 * step), second(most_rows, 2 * step + 1);
    train.accumulate(first.given(), first.y);
    train.step(second.given(), second.y);
  }
  return parameters(train);
}
template <class Net, class Policy = Net>
void check_two_ranks() {
  const std::vector<float> expected = from_micro_batches<Net>();
  std::vector<float> found[2];
  threads{2, {.deadline = std::chrono::minutes(5)}}.run([&](threads::rank& rank) {
    trainer<ddp<Policy, threads::rank>, CrossEntropyLoss, SGD, batch<most_rows>, float, cuda> train{
        rank, {.learning_rate = 0.05}, {.seed = 5, .ordinal = 0}};
    for (std::uint32_t step = 0; step < 2; ++step) {
      const text_of<Net, float> own(most_rows, 2 * step + static_cast<std::uint32_t>(rank.rank()));
      train.step(own.given(), own.y);
    }
    found[rank.rank()] = parameters(train);
  });
  for (const auto& own : found) CHECK(own == expected);
}

template <class Net>
void check_beside_cpu() {
  const auto expected = trained<Net, double, cpu>();
  CHECK(testing::within("steps of transformers", testing::distance(trained<Net, float, cuda>(), expected),
                        testing::distance(trained<Net, double, cuda>(), expected)));
}
template <class Net>
void check_policies() {
  const auto expected = trained<Net, float, cuda>();
  CHECK(trained<Net, float, cuda>() == expected);
  CHECK(trained<Net, float, cuda, checkpoint<sqrt_n, Net>>() == expected);
  CHECK(trained<Net, float, cuda, checkpoint<recompute_all, Net>>() == expected);
  CHECK(trained<Net, float, cuda, fused_update<checkpoint<recompute_cheap, Net>>>() == expected);
}

// Probabilities are stored on a cpu alone: a trainer says so before it compiles (checked_calls.hpp).
template <class... Options>
inline constexpr bool trains_on_gpu =
    detail::holds<detail::callable<cuda::queue, float>, MultiheadAttention<width, 2, Options...>>;
static_assert(trains_on_gpu<> && trains_on_gpu<attention::key_lengths, attention::added_mask, attention::dropout<percent<10>>>);
static_assert(!trains_on_gpu<attention::stored_probabilities>);

} // namespace

TEST_CASE("cuda: transformers train to the numbers of a cpu in double") {
  check_beside_cpu<Text>();
  check_beside_cpu<Masked>();
  check_beside_cpu<Strips>();
  check_beside_cpu<TiedStrips>();
}

TEST_CASE("cuda: transformers have the same bits under every policy") {
  check_policies<Text>();
  CHECK(trained<Text, float, cuda, checkpoint<budget_fraction<60>, Text>>() == trained<Text, float, cuda>());
  check_policies<Masked>();
  check_policies<Strips>();
}

TEST_CASE("cuda: transformers on two ranks that share a GPU have the bits of two micro-batches") {
  check_two_ranks<Text>();
  check_two_ranks<Masked, checkpoint<recompute_all, Masked>>();
  check_two_ranks<Strips>();
}

} // namespace cuda_transformers_tests
