// SPDX-License-Identifier: MIT
// A network of dense blocks in training.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <doctest/doctest.h>

#include "agree.hpp"

namespace cuda_dense_tests {

using namespace cairn;

namespace {

template <class Bottlenecks>
using Net =
    Sequential<Input<6, 5, 3>, Conv2d<3, 4, 3, padding<1>, no_bias>, DenseBlock<2, 3, Bottlenecks>, DenseTransition<5>,
               AvgPool2d<2>, DenseBlock<2, 2, Bottlenecks>, BatchNorm2d<9>, ReLU, AdaptiveAvgPool2d<1>, Flatten, Linear<9, 4>>;
using Stored = Net<store_all>;
constexpr std::size_t pixels = 6 * 5 * 3, most_rows = 6;
// A budget between the most and the least.
template <class T>
inline constexpr std::size_t half_of_the_bytes =
    (peak_activation_bytes<Stored, most_rows, T> +
     peak_activation_bytes<checkpoint<recompute_all, Net<recompute_all>>, most_rows, T>) /
    2;
template <class T>
using Within = checkpoint<budget<half_of_the_bytes<T>>, Stored>;

template <class T>
struct images {
  std::vector<T> x;
  std::vector<int> y;
  images(std::size_t rows, std::uint32_t which) : x(rows * pixels), y(rows) {
    const types::random_key key{.seed = 11, .position = which};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(2 * ops::random_uniform<float>(key, i) - 1);
    for (std::size_t r = 0; r < rows; ++r) y[r] = static_cast<int>(ops::random_bits(key, 100'000 + r) % 4);
  }
};

constexpr SGD momentum{.learning_rate = 0.05, .momentum = 0.9};

template <class T, class Trainer>
void append_learnt(Trainer& train, std::vector<T>& to) {
  const auto append = [&](const auto& q) { to.insert(to.end(), q.numbers.begin(), q.numbers.end()); };
  train.for_each(append);
  train.for_each_buffer(append);
}

// Trains for four steps, of which one has fewer images. The result: the losses, the parameters, the running statistics, and an
// evaluation.
template <class Model, class T, class Device>
std::vector<T> trained() {
  trainer<Model, CrossEntropyLoss, SGD, batch<most_rows>, T, Device> train{momentum, {.seed = 5}};
  std::vector<T> seen;
  for (std::uint32_t step = 0; step < 4; ++step) {
    const images<T> given(step == 2 ? 3 : most_rows, step);
    seen.push_back(static_cast<T>(double{train.step(given.x, given.y)}));
  }
  append_learnt(train, seen);
  const auto scores = train.evaluate(images<T>(most_rows, 100).x);
  seen.insert(seen.end(), scores.begin(), scores.end());
  return seen;
}

// As many steps of ranks that share the GPU; the result of each, without running statistics, which are those of its own images.
template <class Model, class T>
std::vector<std::vector<T>> trained_by_ranks(std::size_t ranks) {
  std::vector<std::vector<T>> all(ranks);
  threads{static_cast<int>(ranks), {.deadline = std::chrono::minutes(5)}}.run([&](threads::rank& rank) {
    const auto own = static_cast<std::uint32_t>(rank.rank());
    trainer<ddp<Model, threads::rank, bucket_bytes<1024>>, CrossEntropyLoss, SGD, batch<most_rows>, T, cuda> train{
        rank, momentum, {.seed = 5, .ordinal = 0}};
    for (std::uint32_t step = 0; step < 4; ++step) {
      const images<T> given(most_rows - own, 10 * step + own);
      train.step(given.x, given.y);
    }
    train.for_each([&](const auto& q) { all[own].insert(all[own].end(), q.numbers.begin(), q.numbers.end()); });
  });
  return all;
}
template <class T>
std::vector<T> trained_by_micro_batches() {
  trainer<Stored, CrossEntropyLoss, SGD, batch<most_rows>, T, cuda> train{momentum, {.seed = 5}};
  for (std::uint32_t step = 0; step < 4; ++step) {
    const images<T> first(most_rows, 10 * step), second(most_rows - 1, 10 * step + 1);
    train.accumulate(first.x, first.y);
    train.step(second.x, second.y);
  }
  std::vector<T> learnt;
  train.for_each([&](const auto& q) { learnt.insert(learnt.end(), q.numbers.begin(), q.numbers.end()); });
  return learnt;
}

} // namespace

TEST_CASE_TEMPLATE("cuda: dense blocks train to the same bits under every policy", T, float, double) {
  const auto expected = trained<Stored, T, cuda>();
  CHECK(trained<Stored, T, cuda>() == expected);
  CHECK(trained<Net<recompute_all>, T, cuda>() == expected);
  CHECK(trained<checkpoint<recompute_all, Net<recompute_all>>, T, cuda>() == expected);
  CHECK(trained<checkpoint<sqrt_n, Stored>, T, cuda>() == expected);
  CHECK(trained<Within<T>, T, cuda>() == expected);
}

TEST_CASE("cuda: dense blocks train to the numbers of a cpu in double") {
  const auto expected = trained<Stored, double, cpu>();
  CHECK(testing::within("steps of dense blocks", testing::distance(trained<Stored, float, cuda>(), expected),
                        testing::distance(trained<Stored, double, cuda>(), expected)));
}

TEST_CASE_TEMPLATE("cuda, ranks: two ranks of dense blocks are two micro-batches, bit for bit", T, float, double) {
  const auto expected = trained_by_micro_batches<T>();
  for (const auto& own : trained_by_ranks<checkpoint<recompute_all, Stored>, T>(2)) CHECK(own == expected);
}

} // namespace cuda_dense_tests
