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

TEST_CASE("a product that leaves 64 bits is too many numbers, and not a few") {
  constexpr std::size_t half = std::size_t{1} << 32;
  static_assert(shape{half, half}.size() == detail::too_many); // 2^64 would wrap to 0
  static_assert(shape{half, half, 3}.size() == detail::too_many);
  static_assert(shape{~std::size_t{0} / 3, 3, 7}.size() == detail::too_many);
  static_assert(shape{half, half, 0}.size() == 0);
  static_assert(shape{half, 1U << 15U}.size() == half << 15U); // smaller products are exact
  static_assert(shape{half - 1, 65535}.size() == (half - 1) * 65535);
  static_assert(detail::counted(detail::too_many - 1, 1) == detail::too_many - 1);
  static_assert(detail::counted(~std::size_t{0}, 1) == detail::too_many);
  static_assert(detail::counted(~std::size_t{0}, 0) == 0);
}

} // namespace shape_tests
