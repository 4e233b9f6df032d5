// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string_view>

#include <cairn/core/explain.hpp>
#include <cairn/core/shape.hpp>

namespace elsewhere {
struct layer {};
} // namespace elsewhere

TEST_CASE("type_name is what the user typed") {
  static_assert(cairn::detail::type_name<int>() == "int");
  static_assert(cairn::detail::type_name<double>() == "double");
  CHECK(cairn::detail::type_name<elsewhere::layer>() == "elsewhere::layer");
  CHECK(cairn::detail::type_name<cairn::shape>() == "shape");
}

TEST_CASE("type_name shows template arguments and ends where the name ends") {
  const std::string_view name = cairn::detail::type_name<cairn::dims<28, 5>>();
  CHECK(name.substr(0, 7) == "dims<28");
  CHECK(name.back() == '>');
}

TEST_CASE("explain: a spelling tells types apart, and is the same wherever it is asked for") {
  using cairn::dims, cairn::detail::same_spelling, cairn::detail::spelling;
  static_assert(same_spelling(spelling<dims<3, 4>>(), spelling<dims<3, 4>>()));
  static_assert(!same_spelling(spelling<dims<3, 4>>(), spelling<dims<3, 5>>()));
  static_assert(!same_spelling(spelling<int>(), "") && !same_spelling("", spelling<int>()));
  CHECK(!same_spelling(spelling<float>(), spelling<double>()));
}

TEST_CASE("explain: where nothing is wrong there is nothing to refuse") {
  static_assert(cairn::detail::refuse<cairn::detail::nothing_wrong>());
}
