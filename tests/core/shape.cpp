// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cairn/core/shape.hpp>

namespace shape_tests {

using namespace cairn;

TEST_CASE("size is the product of the extents, and 1 for a single number") {
  static_assert(shape{}.size() == 1);
  static_assert(shape{784}.size() == 784);
  static_assert(shape{28, 28, 3}.size() == 2352);
  static_assert(shape{28, 0}.size() == 0);
}

TEST_CASE("last is the innermost extent, and with_last replaces it and nothing else") {
  static_assert(shape{}.last() == 1);
  static_assert(shape{4, 5}.last() == 5);
  static_assert(shape{4, 5}.with_last(6) == shape{4, 6});
  static_assert(shape{}.with_last(6) == shape{6});
}

TEST_CASE("shapes are equal if their ranks and extents are") {
  static_assert(shape{2, 3} == shape{2, 3});
  static_assert(!(shape{2, 3} == shape{3, 2}));
  static_assert(!(shape{2, 3} == shape{2, 3, 1}));
  static_assert(!(shape{2, 1} == shape{2}));
}

TEST_CASE("push_back adds the innermost extent") {
  shape s{2};
  s.push_back(7);
  CHECK(s == shape{2, 7});
  CHECK(s[1] == 7);
  s[0] = 3;
  CHECK(s == dims<3, 7>::value);
}

} // namespace shape_tests
