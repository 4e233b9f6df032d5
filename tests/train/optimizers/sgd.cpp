// SPDX-License-Identifier: MIT
#include <cairn/train/optimizers/sgd.hpp>

#include <doctest/doctest.h>

#include "../../reference/optimizer_check.hpp"

namespace sgd_tests {

using namespace cairn;

static_assert(optimizer<SGD>);

TEST_CASE_TEMPLATE("SGD: PyTorch's numbers", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 2e-6 : 1e-13;
  CHECK(optimizer_distance_from_torch<T>("sgd", SGD{.learning_rate = 0.1}) < tolerance);
  CHECK(optimizer_distance_from_torch<T>("sgd_momentum", SGD{.learning_rate = 0.1, .momentum = 0.9}) < tolerance);
  CHECK(optimizer_distance_from_torch<T>(
            "sgd_nesterov", SGD{.learning_rate = 0.05, .momentum = 0.8, .weight_decay = 0.01, .nesterov = true}) < tolerance);
  CHECK(optimizer_distance_from_torch<T>(
            "sgd_dampening", SGD{.learning_rate = 0.1, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.1}) < tolerance);
  CHECK(optimizer_distance_from_torch<T>("sgd_weight_decay", SGD{.learning_rate = 0.1, .weight_decay = 0.2}) < tolerance);
}

TEST_CASE("SGD: PyTorch's defaults, and a state only with momentum") {
  const SGD sgd;
  CHECK((sgd.learning_rate == 1e-3 && sgd.momentum == 0 && sgd.dampening == 0 && sgd.weight_decay == 0 && !sgd.nesterov));
  CHECK(sgd.states() == 0);
  CHECK(SGD{.momentum = 0.9}.states() == 1);
}

} // namespace sgd_tests
