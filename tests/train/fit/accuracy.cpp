// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <cairn/core/random.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/random_split.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/fit/accuracy.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

#include "../../layer/several_layers.hpp"

namespace accuracy_tests {

using namespace cairn;

namespace {

tensor_view<const float> rows_of(const std::vector<float>& numbers, const shape& sample) {
  return {numbers.data(), numbers.size() / sample.size(), sample};
}

// Two classes: whether the feature that the mask lets through is positive.
struct masked_features {
  std::vector<float> features, mask;
  std::vector<int> labels;

  explicit masked_features(std::size_t rows) : features(2 * rows), mask(2 * rows), labels(rows) {
    const types::random_key key{.seed = 4};
    for (std::size_t r = 0; r < rows; ++r) {
      const std::size_t open = ops::random_bits(key, 3 * r) % 2;
      for (std::size_t k = 0; k < 2; ++k) features[2 * r + k] = 2 * ops::random_uniform<float>(key, 3 * r + 1 + k) - 1;
      mask[2 * r + open] = 1;
      labels[r] = features[2 * r + open] > 0 ? 1 : 0;
    }
  }
  auto dataset() const {
    return tensor_dataset{sample_array{shape{2}, features}, sample_array{shape{2}, mask}, sample_array{shape{}, labels}};
  }
};

} // namespace

TEST_CASE("argmax is the place of the largest number of each row, the first of equal ones") {
  const std::vector<float> numbers{1, 3, 2, 5, 5, 4, -1, -2, -1};
  CHECK(argmax(rows_of(numbers, {3})) == std::vector<std::size_t>{1, 0, 0});
  CHECK(argmax(rows_of(numbers, {1, 3})) == std::vector<std::size_t>{1, 0, 0});
  CHECK(argmax(rows_of(numbers, {9})) == std::vector<std::size_t>{3});
  CHECK(argmax(rows_of({}, {3})).empty());
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> broken{1, nan, 2, nan, 7, 8, 9, nan, nan};
  CHECK(argmax(rows_of(broken, {3})) == std::vector<std::size_t>{1, 0, 1});
}

TEST_CASE("accuracy is the share of targets that are the argmax") {
  const std::vector<float> numbers{1, 3, 2, 5, 5, 4, -1, -2, -1, 0, 0, 1};
  CHECK(accuracy(rows_of(numbers, {3}), std::vector<int>{1, 0, 0, 2}) == 1.0);
  CHECK(accuracy(rows_of(numbers, {3}), std::vector<std::int64_t>{1, 1, 2, 2}) == 0.5);
  // One target for each of several places in a sample.
  CHECK(accuracy(rows_of(numbers, {2, 3}), std::vector<std::uint8_t>{1, 0, 9, 2}) == 0.75);
  CHECK(accuracy(rows_of(numbers, {3}), std::vector<int>{-1, 0, 0, 2}) == 0.75);
}

TEST_CASE("accuracy refuses what has no answer") {
  const std::vector<float> numbers{1, 3, 2, 5};
  CHECK_THROWS_WITH_AS(accuracy(rows_of(numbers, {2}), std::vector<int>{1, 0, 0}),
                       doctest::Contains("each of the 2 decisions among 2 classes, found 3"), input_error);
  CHECK_THROWS_WITH_AS(accuracy(rows_of(numbers, {1}), std::vector<int>{1, 0, 0, 0}),
                       doctest::Contains("2 classes or more, found 1"), input_error);
  CHECK_THROWS_WITH_AS(accuracy(rows_of({}, {2}), std::vector<int>{}), doctest::Contains("found none"), input_error);
}

TEST_CASE("accuracy counts every sample of a loader alike, for a trainer and a model") {
  const tensor_dataset<float, int> data(shape{1}, {-3, -2, -1, 1, 2}, 1, {0, 0, 1, 1, 1});
  using Net = Sequential<Linear<1, 2>>;
  trainer<Net, CrossEntropyLoss, SGD, batch<4>> train{SGD{.learning_rate = 0.1}};
  const std::vector<float> weights{-1, 1, 0, 0}; // class 1 where the number is positive
  train.for_each([&](const auto& p) {
    for (std::size_t i = 0; i < p.numbers.size(); ++i)
      p.numbers[i] = p.numbers.size() == 2 && p.name == "0.weight" ? weights[i] : 0;
  });
  // Not (3/4 + 1) / 2, the mean over the batches.
  CHECK(accuracy(train, loader{data, sequential_sampler{}, batch<4>{}}) == doctest::Approx(0.8));
  model<Net, batch<3>> net;
  net.copy_parameters(train);
  loader batches{data, sequential_sampler{}, batch<3>{}};
  CHECK(accuracy(net, batches) == doctest::Approx(0.8));
  CHECK_THROWS_AS(accuracy(net, loader{data, sequential_sampler{}, batch<8>{}, {.drop_last = true}}), input_error);
}

TEST_CASE("a network of several tensors learns from a loader of several arrays") {
  using Net = Sequential<Inputs<dims<2>, constant<2>>, testing::Masked<>, Linear<2, 2>>;
  const auto data = masked_features(200).dataset();
  const auto parts = random_split(data, {0.9, 0.1}, seed{1});
  trainer<Net, CrossEntropyLoss, SGD, batch<16>> train{SGD{.learning_rate = 0.5}, {.seed = 3}};
  loader batches{parts[0], sampler{}, batch<16>{}};
  loader held_out{parts[1], sequential_sampler{}, batch<16>{}};
  for (int epoch = 0; epoch < 20; ++epoch)
    for (const auto& batch : batches) train.step(batch.inputs, batch.targets);
  CHECK(batches.epoch() == 19);
  CHECK(train.steps() == 20 * 12);
  CHECK(accuracy(train, held_out) > 0.9);
}

} // namespace accuracy_tests
