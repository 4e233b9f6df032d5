// SPDX-License-Identifier: MIT
#include <cairn/train/losses/smooth_l1_loss.hpp>

#include <doctest/doctest.h>

#include "../../reference/loss_check.hpp"

namespace smooth_l1_loss_tests {

using namespace cairn;

static_assert(SmoothL1Loss::accepts({1}) && SmoothL1Loss::accepts({}) && SmoothL1Loss::targets_per_sample({3, 2}) == 6);
static_assert(SmoothL1Loss::takes<float, float> && !SmoothL1Loss::takes<float, int> && !SmoothL1Loss::takes<float, double>);

TEST_CASE_TEMPLATE("SmoothL1Loss: PyTorch's numbers", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 1e-6 : 1e-13;
  CHECK((loss_distance_from_torch<SmoothL1Loss, T, T>("smooth_l1", {5}) < tolerance));
  CHECK((loss_distance_from_torch<SmoothL1Loss, T, T>("smooth_l1_beta", {5}, {.beta = 0.25}) < tolerance));
  CHECK((loss_distance_from_torch<SmoothL1Loss, T, T>("smooth_l1_beta_0", {5}, {.beta = 0}) < tolerance));
}

TEST_CASE("SmoothL1Loss: a beta below 0 is refused") {
  CHECK_THROWS_WITH_AS((loss_distance_from_torch<SmoothL1Loss, float, float>("smooth_l1", {5}, {.beta = -1})),
                       doctest::Contains("a beta of 0 or more, found -1"), input_error);
}

} // namespace smooth_l1_loss_tests
