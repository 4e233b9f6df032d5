// SPDX-License-Identifier: MIT
#include <type_traits>

#include <cairn/layer/flatten.hpp>
#include <cairn/layer/input.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/shapes.hpp>
#include <doctest/doctest.h>

using namespace cairn;

namespace {

template <class Body>
constexpr auto walk(const shape& in) {
  return detail::shape_walk<Body, typename detail::flattened<Body>::elements>::from(in);
}
constexpr std::size_t none = static_cast<std::size_t>(-1);

} // namespace

TEST_CASE("shapes: each element has the shape that arrives at it") {
  using Net = Sequential<Flatten, Linear<12, 5>, ReLU, Residual<Linear<5, 7>, Linear<7, 5>>,
                         checkpoint<sqrt_n, Sequential<Linear<5, 6>, ReLU>>, Linear<6, 2>>;
  constexpr auto w = walk<Net>({3, 4});
  static_assert(w.fault == none);
  static_assert(w.input[0] == shape{3, 4} && w.input[1] == shape{12} && w.input[3] == shape{5});
  static_assert(w.input[4] == shape{5} && w.input[5] == shape{6});
  static_assert(w.output == shape{2});
}

TEST_CASE("shapes: shapes of any rank go through") {
  constexpr auto w = walk<Sequential<Linear<4, 6>, ReLU>>({2, 3, 4});
  static_assert(w.fault == none && w.output == shape{2, 3, 6});
}

TEST_CASE("shapes: the joint that does not fit is named by stage and by element") {
  constexpr auto w = walk<Sequential<Linear<4, 6>, ReLU, Linear<5, 2>>>({4});
  static_assert(w.fault == 2 && w.fault_element == 2 && w.before_element == 1);
  static_assert(w.produced == shape{6});
  constexpr auto first = walk<Sequential<Linear<4, 6>>>({3});
  static_assert(first.fault == 0 && first.before_element == none && first.produced == shape{3});
}

TEST_CASE("shapes: a repeated block has to give the shape that it takes") {
  constexpr auto w = walk<Sequential<Linear<4, 6>, Repeat<2, Linear<6, 7>>>>({4});
  static_assert(w.fault == 2 && w.fault_element == 1 && w.before_element == 1 && w.produced == shape{7});
  // Flatten takes anything, but one element cannot be two functions.
  constexpr auto flat = walk<Repeat<2, Flatten>>({2, 3});
  static_assert(flat.fault == 1);
  static_assert(walk<Repeat<2, Flatten>>({6}).fault == none);
}

TEST_CASE("shapes: the first layer says what a network takes, however deep it stands") {
  static_assert(detail::natural_input<Sequential<Linear<7, 2>>>::value == shape{7});
  static_assert(detail::natural_input<Sequential<Input<2, 3>, Flatten, Linear<6, 1>>>::value == shape{2, 3});
  static_assert(
      detail::natural_input<Repeat<2, Residual<checkpoint<sqrt_n, Sequential<Linear<7, 7>>>>>>::value ==
      shape{7});
}

namespace {
struct cube {
  static constexpr shape value{2, 3, 4};
};
struct point {
  static constexpr shape value{};
};
} // namespace

TEST_CASE("shapes: a constant shape becomes a type") {
  static_assert(std::is_same_v<detail::dims_of<cube>::type, dims<2, 3, 4>>);
  static_assert(std::is_same_v<detail::dims_of<point>::type, dims<>>);
}
