// SPDX-License-Identifier: MIT
#include <cairn/data/csv/csv_rows.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

namespace csv_rows_tests {

using cairn::detail::csv_rows;

namespace {

using table = std::vector<std::vector<std::string>>;

table cells_of(const std::string& text, char separator = ',') {
  const csv_rows found(text, separator, "the file");
  table out(found.rows());
  for (std::size_t row = 0; row < found.rows(); ++row)
    for (std::size_t column = 0; column < found.columns(); ++column) {
      out[row].emplace_back(found.at(row, column));
      CHECK(found.at(row, column).data()[out[row].back().size()] == '\0');
    }
  return out;
}
std::string fault_of(const std::string& text) {
  try {
    cells_of(text);
  } catch (const cairn::file_error& thrown) {
    return thrown.what();
  }
  return {};
}

} // namespace

TEST_CASE("csv_rows: cells, with and without quotes, as RFC 4180 has them") {
  CHECK(cells_of("a,b\n1,2\n") == table{{"a", "b"}, {"1", "2"}});
  CHECK(cells_of("a,b\r\n1,2\r\n") == table{{"a", "b"}, {"1", "2"}});
  CHECK(cells_of("a,b\n1,2") == table{{"a", "b"}, {"1", "2"}}); // the last line may end with the file
  CHECK(cells_of("\xEF\xBB\xBF"
                 "a\n1\n") == table{{"a"}, {"1"}});
  CHECK(cells_of("\"a,b\",\"c \"\"d\"\"\",\"\"\n\"line 1\nline 2\",,\r\n") ==
        table{{"a,b", "c \"d\"", ""}, {"line 1\nline 2", "", ""}});
  CHECK(cells_of("\"a\r\nb\"\n") == table{{"a\r\nb"}});
  CHECK(cells_of("a;b,c\n", ';') == table{{"a", "b,c"}});
  CHECK(cells_of("a\tb c\n", '\t') == table{{"a", "b c"}});
  CHECK(cells_of("5\" pipe, a\"\n") == table{{"5\" pipe", " a\""}}); // quotes inside a cell are part of it
  CHECK(cells_of("a\rb,c\n") == table{{"a\rb", "c"}});
  CHECK(cells_of(",\n") == table{{"", ""}});
}

TEST_CASE("csv_rows: empty lines are left out, and a text without any other has no rows") {
  CHECK(cells_of("\n\na,b\n\r\n\n1,2\n\n") == table{{"a", "b"}, {"1", "2"}});
  CHECK(cells_of("").empty());
  CHECK(cells_of("\n\r\n").empty());
  CHECK(cells_of("\"\"\n") == table{{""}}); // not an empty line
}

TEST_CASE("csv_rows: lines are counted, also those inside a cell, and what is wrong is named with its line") {
  const csv_rows found("a,b\n\n\"1\n\n\",2\n3,4\n", ',', "the file");
  CHECK(found.place(0) == "the file, line 1");
  CHECK(found.place(1) == "the file, line 3");
  CHECK(found.place(2) == "the file, line 6");
  CHECK(fault_of("a,b\n1,2\n1,2,3\n")
            .starts_with("the file, line 3: expected 2 cells, as line 1 has, found 3; is ',' the separator"));
  CHECK(fault_of("\na,b\n1\n").starts_with("the file, line 3: expected 2 cells, as line 2 has, found 1"));
  CHECK(fault_of("a\n\"b\nc\n") == "the file, line 2: expected a '\"' that ends the cell, found the end of the file");
  CHECK(fault_of("\"") == "the file, line 1: expected a '\"' that ends the cell, found the end of the file");
  CHECK(fault_of("\"\"\"") == "the file, line 1: expected a '\"' that ends the cell, found the end of the file");
  CHECK(fault_of("\"a\nb\"c,d\n").starts_with("the file, line 2: expected ',' or the end of the line after the '\"'"));
}

} // namespace csv_rows_tests
