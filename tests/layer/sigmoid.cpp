// SPDX-License-Identifier: MIT
#include <cairn/layer/sigmoid.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "reference_check.hpp"

namespace sigmoid_tests {

using namespace cairn;

static_assert(layer<Sigmoid>);
static_assert(Sigmoid::in_place && Sigmoid::backward_reads == reads::output);

TEST_CASE("Sigmoid: gradients") {
  CHECK(gradient_fault<Sigmoid>({{3}}) == "");
  CHECK(gradient_fault<Sigmoid>({{2, 3, 2}}) == "");
  CHECK(gradient_fault<Sigmoid>({{19}}) == ""); // more than one block of a kernel
}

TEST_CASE("Sigmoid: PyTorch's numbers") {
  CHECK(distance_from_torch<Sigmoid, double>("sigmoid", {7}) < 1e-12);
  CHECK(distance_from_torch<Sigmoid, float>("sigmoid", {7}) < 1e-6);
}

} // namespace sigmoid_tests
