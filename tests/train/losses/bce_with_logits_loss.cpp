// SPDX-License-Identifier: MIT
#include <cairn/train/losses/bce_with_logits_loss.hpp>

#include <doctest/doctest.h>

#include "../../reference/loss_check.hpp"

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

TEST_CASE_TEMPLATE("BCEWithLogitsLoss: PyTorch's numbers with a pos_weight for each output, and one for all", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 1e-6 : 1e-13;
  const BCEWithLogitsLoss each{.pos_weight = {0.5, 3, 1, 0, 7.25}}, one{.pos_weight = {3}};
  CHECK((loss_distance_from_torch<BCEWithLogitsLoss, T, T>("bce_pos_weight", {5}, each) < tolerance));
  CHECK((loss_distance_from_torch<BCEWithLogitsLoss, T, T>("bce_one_pos_weight", {1}, one) < 10 * tolerance));
}

TEST_CASE("BCEWithLogitsLoss: as many weights as nothing has are named") {
  const BCEWithLogitsLoss two{.pos_weight = {1, 2}};
  const float target = 1;
  CHECK_THROWS_WITH_AS(two.check_targets(&target, 1, {5}),
                       "BCEWithLogitsLoss: expected one pos_weight, or one for each of 5 outputs, found 2", input_error);
  CHECK_NOTHROW(two.check_targets(&target, 1, {3, 2}));
  CHECK(two.settings().size() == 2);
}

} // namespace bce_with_logits_loss_tests
