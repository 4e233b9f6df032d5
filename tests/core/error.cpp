// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include <cairn/core/error.hpp>

namespace error_tests {

TEST_CASE("error is caught as a std::runtime_error and keeps its text") {
  std::string text;
  try {
    throw cairn::error("expected 2 rows, found 3");
  } catch (const std::runtime_error& caught) {
    text = caught.what();
  }
  CHECK(text == "expected 2 rows, found 3");
}

TEST_CASE_TEMPLATE("each kind of error can be caught by itself, and as an error with its text", Kind, cairn::input_error,
                   cairn::file_error, cairn::rank_lost, cairn::deadline_error) {
  CHECK_THROWS_AS(throw Kind("x"), Kind);
  CHECK_THROWS_WITH_AS(throw Kind("expected 2 rows, found 3"), "expected 2 rows, found 3", cairn::error);
}

} // namespace error_tests
