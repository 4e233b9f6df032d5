// SPDX-License-Identifier: MIT
#include <cairn/train/cross_entropy_loss.hpp>

#include <cstdint>

#include <doctest/doctest.h>

#include "../reference/loss_check.hpp"

using namespace cairn;

static_assert(CrossEntropyLoss::accepts({10}) && CrossEntropyLoss::accepts({3, 4}) &&
              !CrossEntropyLoss::accepts({}) && !CrossEntropyLoss::accepts({1}));
static_assert(CrossEntropyLoss::targets_per_sample({10}) == 1 &&
              CrossEntropyLoss::targets_per_sample({3, 2, 10}) == 6);
static_assert(CrossEntropyLoss::takes<float, std::uint8_t> && CrossEntropyLoss::takes<double, std::int64_t>);
static_assert(!CrossEntropyLoss::takes<float, float>);

TEST_CASE_TEMPLATE("CrossEntropyLoss: PyTorch's numbers", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 1e-6 : 1e-13;
  CHECK(loss_distance_from_torch<CrossEntropyLoss, T, int>("cross_entropy", {4}) < tolerance);
  CHECK(loss_distance_from_torch<CrossEntropyLoss, T, std::uint8_t>("cross_entropy_large", {19}) < tolerance);
  CHECK(loss_distance_from_torch<CrossEntropyLoss, T, std::int64_t>("cross_entropy_rank_3", {3, 4}) <
        tolerance);
}
