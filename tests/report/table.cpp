// SPDX-License-Identifier: MIT
#include <string>

#include <cairn/report/table.hpp>
#include <doctest/doctest.h>

namespace table_tests {

using namespace cairn;

namespace {

report::table results() {
  report::table t({"policy", "ranks", "peak"});
  t.row({"store_all", "1", "12.3 MiB"});
  t.row({"√n", "12", "-"});
  return t;
}

} // namespace

TEST_CASE("numbers are aligned to the right, words to the left") {
  CHECK(results().text() == "policy     ranks      peak\n"
                            "---------  -----  --------\n"
                            "store_all      1  12.3 MiB\n"
                            "√n            12         -\n");
}

TEST_CASE("the Markdown form says the alignment and keeps bars out of the cells") {
  CHECK(results().markdown() == "| policy    | ranks |     peak |\n"
                                "| --------- | ----: | -------: |\n"
                                "| store_all |     1 | 12.3 MiB |\n"
                                "| √n        |    12 |        - |\n");
  CHECK(report::table({"a|b"}).row({"x\ny"}).markdown() == "| a\\|b |\n| ---- |\n| x y  |\n");
  CHECK(report::table({"n"}).row({"7"}).markdown() == "|   n |\n| --: |\n|   7 |\n");
}

TEST_CASE("one word among numbers makes a column of words") {
  CHECK(report::table({"k"}).row({"1"}).row({"all"}).text() == "k\n---\n1\nall\n");
}

TEST_CASE("a row of another length is refused") {
  CHECK_THROWS_WITH_AS(results().row({"every<7>", "2"}),
                       doctest::Contains("expected a row of 3 cells, as the header has, found 2"), error);
}

TEST_CASE("a rule stands where it was asked for, in the text only") {
  report::table t({"part", "bytes"});
  t.row({"a", "1"}).row({"b", "2"}).rule().row({"sum", "3"});
  CHECK(t.text() == "part  bytes\n"
                    "----  -----\n"
                    "a         1\n"
                    "b         2\n"
                    "----  -----\n"
                    "sum       3\n");
  CHECK(t.markdown().find("---", t.markdown().find("| a")) == std::string::npos);
}

} // namespace table_tests
