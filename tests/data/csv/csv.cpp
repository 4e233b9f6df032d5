// SPDX-License-Identifier: MIT
#include <cairn/data/csv/csv.hpp>

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <doctest/doctest.h>

#include "../folder.hpp"

namespace csv_tests {

using namespace cairn;
using files::csv_column, files::csv_table, files::parse_csv;

namespace {

const char* const houses = "rooms,colour,price\n"
                           "3,red,1.5e5\n"
                           "4,\"light, blue\", 250000\n"
                           "2,red,99000.5 \n";

template <class Kind = file_error, class F>
std::string said_by(const F& f) {
  try {
    f();
  } catch (const Kind& thrown) {
    return thrown.what();
  }
  return {};
}
template <class T = float>
std::string said_of(const std::string& cell, const csv_column& as = "x", const types::csv_options& how = {}) {
  return said_by([&] { parse_csv("x,y\n1,0\n" + cell + ",0\n", how).numbers<T>({as}); });
}

} // namespace

TEST_CASE("csv: a table has rows and named columns") {
  const csv_table table = parse_csv(houses);
  CHECK(table.rows() == 3);
  CHECK(table.names() == std::vector<std::string>{"rooms", "colour", "price"});
  CHECK(table.cell(1, "colour") == "light, blue");
  CHECK(table.cell(2, "price") == "99000.5 ");
  const csv_table nameless = parse_csv("5;6\n7;8\n", {.separator = ';', .header = false});
  CHECK(nameless.rows() == 2);
  CHECK(nameless.names() == std::vector<std::string>{"0", "1"});
  CHECK(nameless.numbers<int>({"1", "0"}) == std::vector{6, 5, 8, 7});
  CHECK(parse_csv("a,b\n").rows() == 0);
  CHECK(parse_csv("a,b\n").numbers({"a"}).empty());
}

TEST_CASE("csv: numbers and categories of a sample lie beside each other, in the order that is asked for") {
  const csv_table table = parse_csv(houses);
  const auto colours = table.categories("colour");
  CHECK(colours == std::vector<std::string>{"light, blue", "red"});
  CHECK(table.numbers({"price", "rooms"}) == std::vector<float>{1.5e5F, 3, 250000, 4, 99000.5F, 2});
  CHECK(table.numbers<double>({"rooms", {"colour", colours}}) == std::vector<double>{3, 0, 1, 4, 1, 0, 2, 0, 1});
  CHECK(table.numbers<std::int64_t>({"rooms"}) == std::vector<std::int64_t>{3, 4, 2});
  CHECK(table.indices("colour", colours) == std::vector<std::int32_t>{1, 0, 1});
  CHECK(table.indices<std::int64_t>("colour", {"red", "light, blue"}) == std::vector<std::int64_t>{0, 1, 0}); // any order
  const std::vector<csv_column> chosen{"rooms", "price"}; // known when the program runs
  CHECK(table.numbers(chosen).size() == 6);

  const tensor_dataset data{sample_array{shape{3}, table.numbers({"rooms", {"colour", colours}})},
                            sample_array{shape{1}, table.numbers({"price"})}};
  CHECK(data.size() == 3);
  CHECK(data.targets_per_sample() == 1);
}

TEST_CASE("csv: a missing value is an error, or the number that takes its place") {
  for (const char* const cell : {"", "NA", "\"NA\""}) {
    CAPTURE(cell);
    CHECK(said_of(cell, "x", {.missing = "NA"}).starts_with("the table, line 3, column 'x': expected a number, found "));
    CHECK(parse_csv("x\n1\n\"\"\n" + std::string(cell) + "\n2\n", {.missing = "NA"}).numbers({{"x", -7}}).at(1) == -7);
  }
  CHECK(said_of("", "x").find("found nothing; csv_column(name, 0) puts a 0, or another number, in place of missing ones") !=
        std::string::npos);
  CHECK(said_of("NA", {"x", 0}).find("found 'NA'; csv_options{.missing = \"NA\"} names a text") != std::string::npos);
}

TEST_CASE("csv: what is no number of the type is an error with its line and column") {
  for (const char* const cell : {"abc", "1,5", "1.5.2", "nan", "inf", "1e999", "--1", "0x", "1 2", " "}) {
    CAPTURE(cell);
    const std::string text = "x\n1\n\"" + std::string(cell) + "\"\n";
    CHECK(said_by([&] {
            parse_csv(text).numbers<double>({"x"});
          }).starts_with("the table, line 3, column 'x': expected a number, found '"));
  }
  CHECK(said_of("1e39").find("expected a number of 32 bits, found '1e39'") != std::string::npos);
  CHECK(said_of<double>("1e39").empty());
  CHECK(said_of<int>("1.5").find("expected a whole number of 32 bits, found '1.5'") != std::string::npos);
  CHECK(said_of<int>("2147483647").empty());
  CHECK_FALSE(said_of<int>("2147483648").empty());
  CHECK(said_of<int>("-2147483648").empty());
  CHECK_FALSE(said_of<unsigned char>("-1").empty());
  CHECK(said_of<unsigned char>("255").empty());
  CHECK_FALSE(said_of<std::int64_t>("9223372036854775808").empty());
  CHECK(said_of<std::int64_t>("-9223372036854775808").empty());
  CHECK(said_of("mauve", {"x", std::vector<std::string>{"red", "1"}}) ==
        "the table, line 3, column 'x': expected one of 2 categories, found 'mauve'; were they taken from all data?");
}

TEST_CASE("csv: names of columns that are none, twice or unknown") {
  CHECK(said_by([] { parse_csv(""); }) == "the table: expected a line, found an empty file");
  CHECK(said_by([] {
          parse_csv("a,b,a\n");
        }).starts_with("the table, line 1: expected another name for each column, found 'a' twice"));
  CHECK(said_by<input_error>([] { parse_csv(houses).numbers({"Rooms"}); }) ==
        "the table: expected the name of a column, one of 'rooms', 'colour', 'price', found 'Rooms'");
  CHECK(said_by<input_error>([] { parse_csv(houses).categories("size"); }).find("found 'size'") != std::string::npos);
  for (const char separator : {'"', '\n', '\r', '\0'})
    CHECK(said_by<input_error>([&] { parse_csv("a\n", {.separator = separator}); }).find("expected a separator such as") !=
          std::string::npos);
}

TEST_CASE("csv: a file is read as its text is, and errors name it") {
  CHECK(file_fault("a,b\n1\n", [](const std::string& path) { files::read_csv(path); }).find("line 2: expected 2 cells") !=
        std::string::npos);
  const folder here;
  const std::string path = here.path / "houses.csv";
  std::ofstream(path, std::ios::binary) << houses;
  CHECK(files::read_csv(path).numbers({"price"}) == parse_csv(houses).numbers({"price"}));
  CHECK(said_by([&] {
          files::read_csv(path).numbers({"colour"});
        }).starts_with(path + ", line 2, column 'colour': expected a number, found 'red'"));
  CHECK(said_by([&] { files::read_csv(path + "x"); }).find(path + "x: expected a text") != std::string::npos);
}

} // namespace csv_tests
