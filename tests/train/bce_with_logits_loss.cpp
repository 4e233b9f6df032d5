// SPDX-License-Identifier: MIT
#include <cairn/train/bce_with_logits_loss.hpp>

#include <doctest/doctest.h>

#include "../reference/loss_check.hpp"

namespace bce_with_logits_loss_tests {

using namespace cairn;

static_assert(BCEWithLogitsLoss::accepts({1}) && BCEWithLogitsLoss::accepts({}) &&
              BCEWithLogitsLoss::targets_per_sample({3, 2}) == 6);
static_assert(BCEWithLogitsLoss::takes<float, float> && !BCEWithLogitsLoss::takes<float, int> &&
              !BCEWithLogitsLoss::takes<float, double>);

TEST_CASE_TEMPLATE("BCEWithLogitsLoss: PyTorch's numbers", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 1e-6 : 1e-13;
  CHECK((loss_distance_from_torch<BCEWithLogitsLoss, T, T>("bce_with_logits", {5}) < tolerance));
}

} // namespace bce_with_logits_loss_tests
