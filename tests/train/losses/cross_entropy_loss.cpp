// SPDX-License-Identifier: MIT
#include <cairn/train/losses/cross_entropy_loss.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "../../reference/loss_check.hpp"

namespace cross_entropy_loss_tests {

using namespace cairn;

static_assert(CrossEntropyLoss::accepts({10}) && CrossEntropyLoss::accepts({3, 4}) && !CrossEntropyLoss::accepts({}) &&
              !CrossEntropyLoss::accepts({1}));
static_assert(CrossEntropyLoss::targets_per_sample({10}) == 1 && CrossEntropyLoss::targets_per_sample({3, 2, 10}) == 6);
static_assert(CrossEntropyLoss::takes<float, std::uint8_t> && CrossEntropyLoss::takes<double, std::int64_t>);
static_assert(!CrossEntropyLoss::takes<float, float>);

TEST_CASE_TEMPLATE("CrossEntropyLoss: PyTorch's numbers", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 1e-6 : 1e-13;
  CHECK(loss_distance_from_torch<CrossEntropyLoss, T, int>("cross_entropy", {4}) < tolerance);
  CHECK(loss_distance_from_torch<CrossEntropyLoss, T, std::uint8_t>("cross_entropy_large", {19}) < tolerance);
  CHECK(loss_distance_from_torch<CrossEntropyLoss, T, std::int64_t>("cross_entropy_rank_3", {3, 4}) < tolerance);
}

TEST_CASE_TEMPLATE("CrossEntropyLoss: PyTorch's numbers with options", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 1e-6 : 1e-13;
  const auto distance = [](const char* name, const CrossEntropyLoss& loss) {
    return loss_distance_from_torch<CrossEntropyLoss, T, std::int64_t>(name, {5}, loss);
  };
  const types::class_weights weights(std::span(reference_values("cross_entropy_options/class_weights")));
  CHECK(distance("cross_entropy_ignore", {.ignore_index = -100}) < tolerance);
  CHECK(distance("cross_entropy_smoothing", {.ignore_index = -100, .label_smoothing = 0.1}) < tolerance);
  CHECK(distance("cross_entropy_weights", {.ignore_index = -100, .weight = weights}) < tolerance);
  CHECK(distance("cross_entropy_all", {.ignore_index = 3, .label_smoothing = 0.25, .weight = weights}) < tolerance);
}

TEST_CASE("CrossEntropyLoss: options that cannot be are named before anything is written") {
  cpu device;
  const shape classes{3};
  const std::vector<float> output(3);
  const std::vector<int> targets{-100};
  double loss = -1;
  loss_call<float, int> call;
  call.rows = 1;
  call.output_shape = &classes;
  call.output = output.data();
  call.targets = targets.data();
  call.loss = &loss;
  const CrossEntropyLoss few{.weight = {1, 2}}, strange{.label_smoothing = 1.5}, plain;
  CHECK_THROWS_WITH_AS(few.run(device.compute(), call), doctest::Contains("expected a weight for each of 3 classes, found 2"),
                       input_error);
  CHECK_THROWS_WITH_AS(strange.run(device.compute(), call), doctest::Contains("label_smoothing from 0 to 1"), input_error);
  CHECK_THROWS_AS(plain.check_targets(targets.data(), 1, classes), input_error); // no label is ignored by default
  CHECK_THROWS_AS(few.check_targets(targets.data(), 1, classes), input_error);
  CHECK(loss == -1);
  CrossEntropyLoss{.ignore_index = -100}.run(device.compute(), call);
  CHECK(loss == 0);
}

} // namespace cross_entropy_loss_tests
