// SPDX-License-Identifier: MIT
#include <cairn/layer/relu.hpp>

#include <cmath>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "alone.hpp"
#include "reference_check.hpp"

namespace relu_tests {

using namespace cairn;

static_assert(layer<ReLU>);
static_assert(ReLU::in_place && ReLU::as_activation == ops::activation::relu);

TEST_CASE("ReLU: gradients") {
  CHECK(gradient_fault<ReLU>({{3}}) == "");
  CHECK(gradient_fault<ReLU>({{2, 3, 2}}) == "");
  CHECK(gradient_fault<ReLU>({{19}}) == ""); // more than one block of a kernel
}

TEST_CASE("ReLU: PyTorch's numbers") {
  CHECK(distance_from_torch<ReLU, double>("relu", {7}) < 1e-12);
  CHECK(distance_from_torch<ReLU, float>("relu", {7}) < 1e-6);
}

TEST_CASE("ReLU: a NaN stays visible, and nothing passes back at 0") {
  alone<ReLU, float> relu({{4}}, 1);
  auto x = relu.some_inputs(), dy = relu.some_outputs();
  x.assign(0, {NAN, 0.0F, -1.0F, 2.0F});
  dy.assign(0, {1, 1, 1, 1});
  const auto y = relu.forward(x);
  CHECK(std::isnan(y[0][0]));
  CHECK((y[0][1] == 0.0F && y[0][2] == 0.0F && y[0][3] == 2.0F));
  const auto dx = relu.backward(x, y, dy);
  CHECK((dx[0][1] == 0.0F && dx[0][2] == 0.0F && dx[0][3] == 1.0F));
}

} // namespace relu_tests
