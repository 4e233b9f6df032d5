// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include <cairn/core/error.hpp>

TEST_CASE("error is caught as a std::runtime_error and keeps its text") {
  std::string text;
  try {
    throw cairn::error("expected 2 rows, found 3");
  } catch (const std::runtime_error& caught) {
    text = caught.what();
  }
  CHECK(text == "expected 2 rows, found 3");
}
