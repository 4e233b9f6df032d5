// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <type_traits>

#include <cairn/core/pack.hpp>

namespace pack_tests {

using namespace cairn;
using namespace cairn::detail;

TEST_CASE("pack_element is the type at a position") {
  using three = pack<int, char, double>;
  static_assert(three::size == 3);
  static_assert(std::is_same_v<pack_element<0, three>, int>);
  static_assert(std::is_same_v<pack_element<1, three>, char>);
  static_assert(std::is_same_v<pack_element<2, three>, double>);
}

TEST_CASE("a pack may hold one type twice, types without objects, and nothing") {
  struct incomplete;
  using twice = pack<int, incomplete, int, void>;
  static_assert(std::is_same_v<pack_element<0, twice>, pack_element<2, twice>>);
  static_assert(std::is_same_v<pack_element<1, twice>, incomplete>);
  static_assert(std::is_same_v<pack_element<3, twice>, void>);
  static_assert(pack<>::size == 0);
}

} // namespace pack_tests
