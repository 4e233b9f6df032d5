// SPDX-License-Identifier: MIT
#include <cairn/layer/inputs.hpp>

#include <doctest/doctest.h>

#include "bundle_gradient_check.hpp"

using namespace cairn;

namespace {

using Two = Inputs<dims<4>, dims<2, 3>, constant<4>>;

} // namespace

static_assert(bundle_layer<Two>);
static_assert(Two::input_shapes.size() == 2 && Two::input_shapes.has_constant(0, {4}));
static_assert(Two::accepts(Two::input_shapes) && !Two::accepts({{4}, {2, 3}}));

TEST_CASE("Inputs: the identity of its tensors") {
  CHECK(bundle_gradient_fault<Two>(Two::input_shapes) == "");
  gradient_check_detail::lent_bundle_layer<Two> own(Two::input_shapes, 3);
  const gradient_check_detail::tensor_list x{some_numbers<double>(12, 1), some_numbers<double>(18, 2)};
  CHECK(gradient_check_detail::same_bits(own.forward(x), x));
}
