// SPDX-License-Identifier: MIT
#include <cairn/layer/silu.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "reference_check.hpp"

namespace silu_tests {

using namespace cairn;

static_assert(layer<SiLU>);
static_assert(SiLU::in_place && SiLU::backward_reads == reads::input);

TEST_CASE("SiLU: gradients") {
  CHECK(gradient_fault<SiLU>({{3}}) == "");
  CHECK(gradient_fault<SiLU>({{2, 3, 2}}) == "");
  CHECK(gradient_fault<SiLU>({{19}}) == ""); // more than one block of a kernel
}

TEST_CASE("SiLU: PyTorch's numbers") {
  CHECK(distance_from_torch<SiLU, double>("silu", {9}) < 1e-12);
  CHECK(distance_from_torch<SiLU, float>("silu", {9}) < 1e-6);
}

} // namespace silu_tests
