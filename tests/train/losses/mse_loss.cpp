// SPDX-License-Identifier: MIT
#include <cairn/train/losses/mse_loss.hpp>

#include <doctest/doctest.h>

#include "../../reference/loss_check.hpp"

namespace mse_loss_tests {

using namespace cairn;

static_assert(MSELoss::accepts({1}) && MSELoss::accepts({}) && MSELoss::targets_per_sample({3, 2}) == 6);
static_assert(MSELoss::takes<float, float> && !MSELoss::takes<float, int> && !MSELoss::takes<float, double>);

TEST_CASE_TEMPLATE("MSELoss: PyTorch's numbers", T, float, double) {
  CHECK(loss_distance_from_torch<MSELoss, T, T>("mse", {5}) < (sizeof(T) == 4 ? 1e-6 : 1e-13));
}

} // namespace mse_loss_tests
