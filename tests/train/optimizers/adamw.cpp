// SPDX-License-Identifier: MIT
#include <cairn/train/optimizers/adamw.hpp>

#include <doctest/doctest.h>

#include "../../reference/optimizer_check.hpp"

namespace adamw_tests {

using namespace cairn;

static_assert(optimizer<AdamW>);

TEST_CASE_TEMPLATE("AdamW: PyTorch's numbers", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 2e-6 : 1e-13;
  CHECK(optimizer_distance_from_torch<T>("adamw", AdamW{}) < tolerance);
  const AdamW options{.learning_rate = 0.03, .betas = {0.7, 0.9}, .eps = 1e-6, .weight_decay = 0.3};
  CHECK(optimizer_distance_from_torch<T>("adamw_options", options) < tolerance);
}

TEST_CASE("AdamW: PyTorch's defaults") {
  const AdamW adamw;
  CHECK((adamw.learning_rate == 1e-3 && adamw.betas[0] == 0.9 && adamw.betas[1] == 0.999));
  CHECK((adamw.eps == 1e-8 && adamw.weight_decay == 1e-2 && adamw.states() == 2));
}

} // namespace adamw_tests
