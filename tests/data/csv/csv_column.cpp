// SPDX-License-Identifier: MIT
#include <cairn/data/csv/csv_column.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace csv_column_tests {

using cairn::files::csv_column;

TEST_CASE("csv_column: one number, or one for each category") {
  const csv_column plain = "age";
  CHECK(plain.name() == "age");
  CHECK(plain.width() == 1);
  CHECK_FALSE(plain.has_categories());
  CHECK_FALSE(plain.in_place_of_missing().has_value());
  CHECK(csv_column("age", 7).in_place_of_missing() == 7.0);
  const csv_column colour("colour", std::vector<std::string>{"red", "green", "blue"});
  CHECK(colour.width() == 3);
  CHECK(colour.has_categories());
  CHECK(csv_column("colour", std::vector<std::string>{}).width() == 0);
}

} // namespace csv_column_tests
