// SPDX-License-Identifier: MIT
// A transformer and a network of convolutions of 16-bit elements on a GPU: the bits of every policy and of ranks, and agreement
// with a cpu. They run on the fake runtime.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/train/ddp.hpp>
#include <doctest/doctest.h>

#include "fake/fake.hpp"

namespace cuda_sixteen_bits_networks_tests {

using namespace cairn;

namespace {

constexpr std::size_t rows = 4, tokens = 6, words = 9, width = 8, side = 8, classes = 5;

using Table = Embedding<words, width>;
using Text = Sequential<
    Inputs<integers<tokens>>, Table, LearnedPositions<tokens, width>, SinusoidalPositions,
    TransformerEncoderLayer<width, 2, 16, GELU, attention::norm_first, attention::causal, Dropout<percent<10>>>,
    Residual<RMSNorm<width>, Linear<width, 2 * width>, RotaryEmbedding<2, 1>, attention::core<2, attention::key_heads<1>>>,
    LayerNorm<width>, Tied<Linear<width, words>, Table>>;

using Images = Sequential<Inputs<dims<side, side, 3>>, Conv2d<3, 8, 3, padding<1>>, BatchNorm2d<8>, ReLU,
                          Residual<Conv2d<8, 8, 3, padding<1>>, BatchNorm2d<8>, ReLU, Conv2d<8, 8, 3, padding<1>>>, ReLU,
                          MaxPool2d<2>, Conv2d<8, 8, 3, padding<1>, groups<8>>, GroupNorm<2, 8>, GELU, Conv2d<8, 16, 1>,
                          DenseBlock<2, 4>, DenseTransition<16>, AdaptiveAvgPool2d<1>, Flatten, Linear<16, classes>>;

struct text {
  std::vector<int> x, y;
  explicit text(std::uint64_t which) : x(rows * tokens), y(rows * tokens) {
    const types::random_key key{.seed = 11, .step = which};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(ops::random_bits(key, i) % words);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = (x[i] + 1) % static_cast<int>(words);
  }
};
struct pictures {
  std::vector<float> x;
  std::vector<int> y;
  explicit pictures(std::uint64_t which) : x(rows * 3 * side * side), y(rows) {
    const types::random_key key{.seed = 12, .step = which};
    for (std::size_t r = 0; r < rows; ++r) y[r] = static_cast<int>(ops::random_bits(key, 100'000 + r) % classes);
    for (std::size_t i = 0; i < x.size(); ++i) { // a bright column tells the class
      const std::size_t row = i / (3 * side * side), column = i / 3 % side;
      x[i] = ops::random_uniform<float>(key, i) + (column == static_cast<std::size_t>(y[row]) ? 2.0F : 0.0F);
    }
  }
};
// Adam's first steps follow the signs of gradients, so that roundings grow from step to step; steps of SGD keep them small.
template <class Net>
using optimizer_of = std::conditional_t<std::is_same_v<Net, Text>, AdamW, SGD>;
template <class Net>
constexpr optimizer_of<Net> optimizer() {
  if constexpr (std::is_same_v<Net, Text>) return {.learning_rate = 0.03};
  else return {.learning_rate = 0.1, .momentum = 0.5};
}
template <class Net>
using samples_of = std::conditional_t<std::is_same_v<Net, Text>, text, pictures>;

template <class Train>
std::vector<float> learnt(Train& train) {
  std::vector<float> all;
  train.for_each([&](const auto& q) { all.insert(all.end(), q.numbers.begin(), q.numbers.end()); });
  return all;
}
constexpr std::uint64_t steps = 5;
template <class Options>
Options options() {
  return {.seed = 5, .clip = {0.5}, .loss_scale = dynamic_scale{.init_scale = 1024, .growth_interval = 2}};
}

struct seen {
  std::vector<double> losses;
  std::vector<float> learnt;
};
// Steps of two micro-batches, the same in every step.
template <class Model, class Net, class T, class Device = cuda>
seen alone() {
  using type = trainer<Model, CrossEntropyLoss, optimizer_of<Net>, batch<rows>, T, Device>;
  type train{optimizer<Net>(), options<typename type::options>()};
  seen all;
  for (std::uint64_t step = 0; step < steps; ++step) {
    const samples_of<Net> first(0), second(1);
    all.losses.push_back(train.accumulate(first.x, first.y));
    all.losses.push_back(train.step(second.x, second.y));
  }
  all.learnt = learnt(train);
  return all;
}
template <class Net, class T>
void check_policies_and_cpu() {
  const seen expected = alone<Net, Net, T>();
  CHECK(alone<checkpoint<recompute_all, Net>, Net, T>().learnt == expected.learnt);
  const seen here = alone<Net, Net, T, cpu>();
  for (std::size_t i = 0; i < here.losses.size(); ++i) CHECK(expected.losses[i] == doctest::Approx(here.losses[i]).epsilon(0.01));
  CHECK(expected.losses.back() < expected.losses[1]); // of the same samples
}
template <class Net, class T>
void check_two_ranks() {
  const std::vector<float> expected = alone<Net, Net, T>().learnt;
  std::vector<float> found[2];
  threads{2, {.deadline = std::chrono::minutes(5)}}.run([&](threads::rank& rank) {
    using type = trainer<ddp<Net, threads::rank, bucket_bytes<512>>, CrossEntropyLoss, optimizer_of<Net>, batch<rows>, T, cuda>;
    auto given = options<typename type::options>();
    given.ordinal = 0;
    type train{rank, optimizer<Net>(), given};
    for (std::uint64_t step = 0; step < steps; ++step) {
      const samples_of<Net> own(static_cast<std::uint64_t>(rank.rank()));
      train.step(own.x, own.y);
    }
    found[rank.rank()] = learnt(train);
  });
  for (const auto& own : found) CHECK(own == expected);
}

} // namespace

TEST_CASE("cuda, 16 bits: a transformer of bfloat16 has the same bits under every policy and on two ranks, near those of a cpu") {
  fake::reset();
  check_policies_and_cpu<Text, bfloat16>();
  check_two_ranks<Text, bfloat16>();
}
TEST_CASE("cuda, 16 bits: convolutions of bfloat16 have the same bits under every policy and on two ranks, near those of a cpu") {
  fake::reset();
  check_policies_and_cpu<Images, bfloat16>();
  check_two_ranks<Images, bfloat16>();
}
TEST_CASE(
    "cuda, 16 bits: convolutions of float16 with a scaled loss have the same bits under every policy, near those of a cpu") {
  fake::reset();
  check_policies_and_cpu<Images, float16>();
}

} // namespace cuda_sixteen_bits_networks_tests
