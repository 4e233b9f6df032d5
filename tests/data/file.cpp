// SPDX-License-Identifier: MIT
#include <filesystem>
#include <string>

#include <unistd.h>

#include <cairn/data/file.hpp>
#include <doctest/doctest.h>

#include "folder.hpp"

namespace file_tests {

using namespace cairn;

TEST_CASE("a file is replaced as a whole and nothing stays beside it") {
  const folder here;
  const auto path = here.path / "a.svg";
  write_file_atomically(path, "old and longer");
  CHECK(contents(path) == "old and longer");
  write_file_atomically(path, std::string("new\0", 4));
  CHECK(contents(path) == std::string("new\0", 4));
  CHECK(here.files() == 1);
}

TEST_CASE("a reader of the old file keeps it whole") {
  const folder here;
  const auto path = here.path / "a.svg";
  write_file_atomically(path, "old");
  std::ifstream in(path);
  write_file_atomically(path, "new");
  std::string text;
  in >> text;
  CHECK(text == "old");
}

TEST_CASE("a write that fails names the file and leaves nothing behind") {
  const folder here;
  CHECK_THROWS_WITH_AS(write_file_atomically(here.path / "no" / "a.svg", "x"), doctest::Contains("no/a.svg"), file_error);
  // A folder cannot be replaced by a file: this fails at the very end, when the part has been written.
  std::filesystem::create_directory(here.path / "taken");
  CHECK_THROWS_WITH_AS(write_file_atomically(here.path / "taken", "x"), doctest::Contains("cannot replace"), file_error);
  CHECK(here.files() == 1);
}

} // namespace file_tests
