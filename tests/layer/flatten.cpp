// SPDX-License-Identifier: MIT
#include <cairn/layer/flatten.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "given.hpp"
#include "reference_check.hpp"

namespace flatten_tests {

using namespace cairn;

static_assert(layer<Flatten>);
static_assert(Flatten::outputs(given{{2, 3, 4}}) == tensor{24});

TEST_CASE("Flatten: gradients") {
  CHECK(gradient_fault<Flatten>({{3}}) == "");
  CHECK(gradient_fault<Flatten>({{2, 3, 2}}) == "");
  CHECK(gradient_fault<Flatten>({{19}}) == "");
}

TEST_CASE("Flatten: PyTorch's numbers") {
  CHECK(distance_from_torch<Flatten, double>("flatten", {3, 4}) < 1e-12);
  CHECK(distance_from_torch<Flatten, float>("flatten", {3, 4}) < 1e-6);
}

} // namespace flatten_tests
