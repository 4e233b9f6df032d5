// SPDX-License-Identifier: MIT
#include <cairn/core/bundle.hpp>

#include <doctest/doctest.h>

using namespace cairn;

TEST_CASE("tensor_set: bits by index") {
  static_assert(has(0b101, 0) && !has(0b101, 1) && has(0b101, 2) && !has(0, 3));
  static_assert(first_tensors(0) == 0 && first_tensors(2) == 0b11 && first_tensors(most_tensors) == 0b1111);
}

TEST_CASE("bundle: tensors in order, constants apart") {
  constexpr bundle b = bundle_of<dims<2, 3>, dims<5>, constant<7>>::value;
  static_assert(b.size() == 2 && b[0] == shape{2, 3} && b[1] == shape{5});
  static_assert(b.constant_count == 1 && b.has_constant(0, {7}) && !b.has_constant(0, {8}) &&
                !b.has_constant(1, {7}));
  static_assert(b.numbers() == 11);
  static_assert(b == b && !(b == bundle{{2, 3}, {5}}) && !(bundle{{2}} == bundle{{2}, {2}}));
  CHECK(b.numbers() == 11);
}

TEST_CASE("bundle: a layer replaces the front") {
  constexpr bundle b = bundle_of<dims<1>, dims<2>, dims<3>, constant<9>>::value;
  static_assert(b.front(1) == bundle_of<dims<1>, constant<9>>::value);
  static_assert(b.front(3) == b && b.front(4) == b);
  static_assert(b.with_front(2, bundle{{7}}) == bundle_of<dims<7>, dims<3>, constant<9>>::value);
  static_assert(b.with_front(1, bundle{{7}, {8}}) ==
                bundle_of<dims<7>, dims<8>, dims<2>, dims<3>, constant<9>>::value);
  CHECK(b.front(1).size() == 1);
}
