// SPDX-License-Identifier: MIT
#include <cairn/train/optimizers/adam.hpp>

#include <doctest/doctest.h>

#include "../../reference/optimizer_check.hpp"

namespace adam_tests {

using namespace cairn;

static_assert(optimizer<Adam>);

TEST_CASE_TEMPLATE("Adam: PyTorch's numbers", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 2e-6 : 1e-13;
  CHECK(optimizer_distance_from_torch<T>("adam", Adam{}) < tolerance);
  const Adam options{.learning_rate = 0.02, .betas = {0.8, 0.95}, .eps = 1e-5, .weight_decay = 0.1};
  CHECK(optimizer_distance_from_torch<T>("adam_options", options) < tolerance);
}

TEST_CASE("Adam: PyTorch's defaults") {
  const Adam adam;
  CHECK((adam.learning_rate == 1e-3 && adam.betas[0] == 0.9 && adam.betas[1] == 0.999));
  CHECK((adam.eps == 1e-8 && adam.weight_decay == 0 && adam.states() == 2));
}

} // namespace adam_tests
