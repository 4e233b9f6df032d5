// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include <cairn/data/file.hpp>
#include <doctest/doctest.h>

using namespace cairn;

namespace {

// A folder of its own, removed at the end.
struct folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("cairn-file-" + std::to_string(::getpid()));
  folder() { std::filesystem::create_directory(path); }
  ~folder() { std::filesystem::remove_all(path); }
  auto files() const {
    return std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator());
  }
};

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

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
  CHECK_THROWS_WITH_AS(write_file_atomically(here.path / "no" / "a.svg", "x"), doctest::Contains("no/a.svg"),
                       file_error);
  // A folder cannot be replaced by a file: this fails at the very end, when the part has been written.
  std::filesystem::create_directory(here.path / "taken");
  CHECK_THROWS_WITH_AS(write_file_atomically(here.path / "taken", "x"), doctest::Contains("cannot replace"),
                       file_error);
  CHECK(here.files() == 1);
}
