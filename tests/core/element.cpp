// SPDX-License-Identifier: MIT
#include <type_traits>

#include <cairn/core/element.hpp>
#include <doctest/doctest.h>

namespace element_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// A type with a short mantissa.
struct half {
  unsigned char bits[2];
};

} // namespace

} // namespace element_tests

template <>
struct cairn::detail::accumulated_as<element_tests::half> {
  using type = float;
};

namespace element_tests {

TEST_CASE("element: sums are kept in the same type, unless that is too short") {
  static_assert(std::is_same_v<accumulated<float>, float> && std::is_same_v<accumulated<double>, double>);
  static_assert(std::is_same_v<accumulated<half>, float>);
}

TEST_CASE("element: how many bytes each kind has is a matter of the network's T") {
  static_assert(sizes_of<float>[element::real] == 4 && sizes_of<double>[element::real] == 8);
  static_assert(sizes_of<half>[element::real] == 2 && sizes_of<half>[element::accumulated] == 4);
  static_assert(sizes_of<double>[element::int32] == 4);
  CHECK(sizes_of<half>[element::int32] == 4);
}

} // namespace element_tests
