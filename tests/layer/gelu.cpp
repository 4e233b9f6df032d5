// SPDX-License-Identifier: MIT
#include <cairn/layer/gelu.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "reference_check.hpp"

namespace gelu_tests {

using namespace cairn;

static_assert(layer<GELU>);
static_assert(GELU::backward_reads == reads::input);

TEST_CASE("GELU: gradients") {
  CHECK(gradient_fault<GELU>({{3}}) == "");
  CHECK(gradient_fault<GELU>({{2, 3, 2}}) == "");
  CHECK(gradient_fault<GELU>({{19}}) == ""); // more than one block of a kernel
}

TEST_CASE("GELU: PyTorch's numbers") {
  CHECK(distance_from_torch<GELU, double>("gelu", {9}) < 1e-12);
  CHECK(distance_from_torch<GELU, float>("gelu", {9}) < 1e-6);
}

} // namespace gelu_tests
