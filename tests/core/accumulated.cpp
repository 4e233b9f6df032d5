// SPDX-License-Identifier: MIT
#include <cairn/core/accumulated.hpp>

#include <type_traits>

#include <doctest/doctest.h>

namespace accumulated_tests {

using namespace cairn;

// A low-precision type as a user would add it.
struct narrow {
  using sum_type = float;
  unsigned short bits;
};

template <class T>
concept adds_up = requires { typename accumulated<T>; };

TEST_CASE("accumulated: float and double are their own, a type of one's own says what it is, integers have none") {
  static_assert(std::is_same_v<accumulated<float>, float> && std::is_same_v<accumulated<double>, double>);
  static_assert(std::is_same_v<accumulated<narrow>, float>);
  static_assert(!adds_up<int> && !adds_up<long double> && !adds_up<const float>);
  static_assert(detail::floating_element<float> && detail::floating_element<narrow> && !detail::floating_element<int>);
  static_assert(detail::narrow_element<narrow> && !detail::narrow_element<double> && !detail::narrow_element<int>);
}

} // namespace accumulated_tests
