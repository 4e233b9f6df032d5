// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/train/losses/soft_cross_entropy_loss.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cairn/core/random_normal.hpp>
#include <cairn/data/class_probabilities.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/mixup.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/train/fit/accuracy.hpp>
#include <cairn/train/losses/bce_with_logits_loss.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>

#include "../../reference/loss_check.hpp"
#include "../apart.hpp"
#include "../apart_ops.hpp"
#include "../training.hpp"

namespace soft_cross_entropy_loss_tests {

using namespace cairn;

static_assert(SoftCrossEntropyLoss::accepts({10}) && SoftCrossEntropyLoss::accepts({3, 4}) &&
              !SoftCrossEntropyLoss::accepts({}) && !SoftCrossEntropyLoss::accepts({1}));
static_assert(SoftCrossEntropyLoss::targets_per_sample({3, 2, 10}) == 60);
static_assert(SoftCrossEntropyLoss::takes<float, float> && !SoftCrossEntropyLoss::takes<float, int> &&
              !SoftCrossEntropyLoss::takes<float, double> && SoftCrossEntropyLoss::takes<bfloat16, float>);

namespace {

// The largest difference in loss between a trainer with one-hot targets and one with class labels.
template <class T, class Device>
double difference() {
  using Net = Sequential<Linear<testing::features, 8>, ReLU, Linear<8, testing::classes>>;
  trainer<Net, SoftCrossEntropyLoss, SGD, batch<6>, T, Device> soft{testing::momentum, {.seed = 3}};
  trainer<Net, CrossEntropyLoss, SGD, batch<6>, T, Device> hard{testing::momentum, {.seed = 3}};
  double worst = 0;
  for (std::uint32_t step = 0; step < 4; ++step) {
    const testing::samples<accumulated<T>> s(step == 1 ? 4 : 6, step);
    std::vector<accumulated<T>> targets(s.y.size() * testing::classes);
    for (std::size_t row = 0; row < s.y.size(); ++row) targets[row * testing::classes + static_cast<std::size_t>(s.y[row])] = 1;
    worst = std::max(worst, std::abs(double(soft.step(s.x, targets)) - double(hard.step(s.x, s.y))));
  }
  return worst;
}

} // namespace

TEST_CASE_TEMPLATE("SoftCrossEntropyLoss: PyTorch's numbers", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 1e-6 : 1e-13;
  CHECK(loss_distance_from_torch<SoftCrossEntropyLoss, T, T>("soft_cross_entropy", {4}) < tolerance);
  CHECK(loss_distance_from_torch<SoftCrossEntropyLoss, T, T>("soft_cross_entropy_rank_3", {3, 4}) < tolerance);
  const SoftCrossEntropyLoss with_options{.label_smoothing = 0.15, .weight = {0.25, 0.75, 1.5, 2}};
  CHECK(loss_distance_from_torch<SoftCrossEntropyLoss, T, T>("soft_cross_entropy_options", {4}, with_options) < 10 * tolerance);
}

TEST_CASE("SoftCrossEntropyLoss: targets of one class train as CrossEntropyLoss does, on every device") {
  CHECK(difference<double, cpu>() < 1e-12);
  CHECK(difference<float, cpu>() < 1e-5);
  CHECK(difference<bfloat16, cpu>() < 0.02);
  CHECK(difference<double, apart::device>() < 1e-12);
}

// The checksum after three steps by a loss whose weights are constants on the device.
template <class Loss, class Device>
std::uint64_t weights_of(const Loss& loss) {
  trainer<Sequential<Linear<testing::features, testing::classes>>, Loss, SGD, batch<6>, float, Device> t{
      testing::momentum, {.seed = 3, .loss = loss}};
  for (std::uint32_t step = 0; step < 3; ++step) {
    const testing::samples<> s(6, step);
    t.step(s.x, std::vector<float>(6 * testing::classes, 0.25F));
  }
  return t.checksum();
}

TEST_CASE("SoftCrossEntropyLoss, BCEWithLogitsLoss: their weights have a cpu's bits on a device with memory of its own") {
  const SoftCrossEntropyLoss soft{.label_smoothing = 0.125, .weight = {0.5, 1, 2, 1}};
  CHECK((weights_of<SoftCrossEntropyLoss, apart::device>(soft) == weights_of<SoftCrossEntropyLoss, cpu>(soft)));
  CHECK((weights_of<SoftCrossEntropyLoss, cpu>(soft) != weights_of<SoftCrossEntropyLoss, cpu>({})));
  const BCEWithLogitsLoss each{.pos_weight = {0.5, 1, 2, 1}}, one{.pos_weight = {3}};
  CHECK((weights_of<BCEWithLogitsLoss, apart::device>(each) == weights_of<BCEWithLogitsLoss, cpu>(each)));
  CHECK((weights_of<BCEWithLogitsLoss, apart::device>(one) == weights_of<BCEWithLogitsLoss, cpu>(one)));
  CHECK((weights_of<BCEWithLogitsLoss, cpu>(each) != weights_of<BCEWithLogitsLoss, cpu>({})));
}

TEST_CASE("SoftCrossEntropyLoss: options that cannot be are named") {
  const float target = 1;
  const SoftCrossEntropyLoss few{.weight = {1, 2}}, strange{.label_smoothing = -0.5};
  CHECK_THROWS_WITH_AS(few.check_targets(&target, 1, {3}), doctest::Contains("expected a weight for each of 3 classes, found 2"),
                       input_error);
  CHECK_THROWS_WITH_AS(strange.check_targets(&target, 1, {3}), doctest::Contains("label_smoothing from 0 to 1"), input_error);
}

// Points around the corners of a square, whose classes are those of a diagonal: no line parts them.
TEST_CASE("SoftCrossEntropyLoss: a network learns from samples that are mixed") {
  std::vector<float> x(400);
  std::vector<std::int32_t> y(200);
  ops::fill_normal(std::span<float>(x), types::random_key{.seed = 4});
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = static_cast<std::int32_t>((i + i / 2) % 2);
    x[2 * i] = x[2 * i] / 4 + static_cast<float>(i % 2), x[2 * i + 1] = x[2 * i + 1] / 4 + static_cast<float>(i / 2 % 2);
  }
  const tensor_dataset points{sample_array{shape{2}, x}, sample_array{shape{}, y}};
  const vision::class_probabilities soft{points, 2};
  trainer<Sequential<Linear<2, 32>, ReLU, Linear<32, 2>>, SoftCrossEntropyLoss, SGD, batch<20>> train{
      SGD{.learning_rate = 0.2, .momentum = 0.9}, {.seed = 3}};
  loader mixed{soft, sampler{}, batch<20>{}, vision::mixup{soft, {.alpha = 0.2}}};
  loader plain{points, sequential_sampler{}, batch<20>{}};
  CHECK(accuracy(train, plain) < 0.8);
  for (int epoch = 0; epoch < 40; ++epoch)
    for (const auto& [samples, targets] : mixed) train.step(samples, targets);
  CHECK(accuracy(train, plain) > 0.9);
}

} // namespace soft_cross_entropy_loss_tests
