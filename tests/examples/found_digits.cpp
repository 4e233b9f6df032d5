// SPDX-License-Identifier: MIT
#include "../../examples/found_digits.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

namespace found_digits_tests {

TEST_CASE("found_digits: generated ones where no folder is named, and an error where one is that has none") {
  std::FILE* const out = std::tmpfile();
  const char* const set = std::getenv("CAIRN_DATA");
  const std::string before = set == nullptr ? "" : set;
  ::setenv("CAIRN_DATA", "/nowhere", 1);
  const auto digits = found_digits("", out, {.train = 30, .test = 10});
  CHECK(digits.train.size() == 30);
  CHECK(digits.test.size() == 10);
  CHECK_THROWS_AS(found_digits("/nowhere/mnist", out), cairn::file_error);
  std::rewind(out);
  char line[100] = "";
  CHECK(std::string(std::fgets(line, sizeof line, out)).starts_with("digits: generated ones"));
  CHECK(std::string(std::fgets(line, sizeof line, out)) == "digits: MNIST from /nowhere/mnist\n");
  std::fclose(out);
  if (set == nullptr) ::unsetenv("CAIRN_DATA");
  else ::setenv("CAIRN_DATA", before.c_str(), 1);
}

} // namespace found_digits_tests
