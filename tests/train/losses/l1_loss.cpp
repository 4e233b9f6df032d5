// SPDX-License-Identifier: MIT
#include <cairn/train/losses/l1_loss.hpp>

#include <doctest/doctest.h>

#include "../../reference/loss_check.hpp"

namespace l1_loss_tests {

using namespace cairn;

static_assert(L1Loss::accepts({1}) && L1Loss::accepts({}) && L1Loss::targets_per_sample({3, 2}) == 6);
static_assert(L1Loss::takes<float, float> && !L1Loss::takes<float, int> && !L1Loss::takes<float, double>);

TEST_CASE_TEMPLATE("L1Loss: PyTorch's numbers", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 1e-6 : 1e-13;
  CHECK((loss_distance_from_torch<L1Loss, T, T>("l1", {5}) < tolerance));
}

} // namespace l1_loss_tests
