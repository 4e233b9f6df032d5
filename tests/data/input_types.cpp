// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <type_traits>

#include <cairn/data/input_types.hpp>

namespace input_types_tests {

using namespace cairn;

namespace {

struct of_one {
  using input_type = float;
  shape sample_shape() const { return {3}; }
};
struct of_two {
  using input_type = types::input_types<float, std::int32_t>;
  std::array<shape, 2> sample_shapes() const { return {shape{3}, shape{4, 5}}; }
};

} // namespace

TEST_CASE("one input or several are asked for their shapes alike") {
  CHECK(detail::shapes_of(of_one{}) == std::array{shape{3}});
  CHECK(detail::shapes_of(of_two{}) == std::array{shape{3}, shape{4, 5}});
  static_assert(!detail::are_several<of_one::input_type> && detail::are_several<of_two::input_type>);
}

TEST_CASE("the last of several types is that of the targets") {
  using one = detail::inputs_before_last<detail::pack<float, int>>::type;
  using two = detail::inputs_before_last<detail::pack<float, double, int>>::type;
  static_assert(std::is_same_v<one, float>);
  static_assert(std::is_same_v<two, types::input_types<float, double>>);
  CHECK(detail::inputs_of<two>::count == 2);
}

} // namespace input_types_tests
