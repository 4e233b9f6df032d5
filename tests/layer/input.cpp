// SPDX-License-Identifier: MIT
#include <cairn/layer/input.hpp>

#include <doctest/doctest.h>

#include "gradient_check.hpp"

using namespace cairn;

static_assert(layer<Input<28, 28, 1>>);
static_assert(Input<28, 28, 1>::input_shape == shape{28, 28, 1});
static_assert(Input<28, 28, 1>::output_shape({28, 28, 1}) == shape{28, 28, 1});
static_assert(Input<3>::accepts({3}) && !Input<3>::accepts({4}) && !Input<3>::accepts({3, 1}));

TEST_CASE("Input: the identity") {
  CHECK(gradient_fault<Input<2, 3>>({2, 3}) == "");
  lent_layer<Input<5>, float> own({5}, 2);
  const auto x = some_numbers<float>(10, 1);
  CHECK(same_bits(own.forward(x), x));
}
