// SPDX-License-Identifier: MIT
#include <cairn/net/named_part.hpp>

#include <string_view>

#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>
#include <doctest/doctest.h>

#include "planned.hpp"

namespace named_part_tests {

using namespace cairn;

namespace {

struct up {
  static constexpr std::string_view text = "up";
};
using Named = detail::named_part<up, Linear<4, 8>>;

} // namespace

TEST_CASE("named part: it is the layer, with a name of its own") {
  static_assert(detail::own_name<Named> == "up" && detail::own_name<Linear<4, 8>>.empty());
  testing::check_step<Sequential<Input<3, 4>, Named, GELU, Linear<8, 2>>, 5, float>();
  using a = blueprint_of<Sequential<Input<3, 4>, Named, GELU, Linear<8, 2>>, 5>;
  using b = blueprint_of<Sequential<Input<3, 4>, Linear<4, 8>, GELU, Linear<8, 2>>, 5>;
  static_assert(a::parameters == b::parameters && a::size == b::size);
}

} // namespace named_part_tests
