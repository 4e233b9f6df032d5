// SPDX-License-Identifier: MIT
#include <cairn/layer/tanh.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "reference_check.hpp"

namespace tanh_tests {

using namespace cairn;

static_assert(layer<Tanh>);
static_assert(Tanh::in_place && Tanh::backward_reads == reads::output);

TEST_CASE("Tanh: gradients") {
  CHECK(gradient_fault<Tanh>({{3}}) == "");
  CHECK(gradient_fault<Tanh>({{2, 3, 2}}) == "");
  CHECK(gradient_fault<Tanh>({{19}}) == ""); // more than one block of a kernel
}

TEST_CASE("Tanh: PyTorch's numbers") {
  CHECK(distance_from_torch<Tanh, double>("tanh", {7}) < 1e-12);
  CHECK(distance_from_torch<Tanh, float>("tanh", {7}) < 1e-6);
}

} // namespace tanh_tests
