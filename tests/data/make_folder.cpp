// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <cairn/data/make_folder.hpp>
#include <doctest/doctest.h>

#include "folder.hpp"
#include "system_calls.hpp"

namespace make_folder_tests {

using namespace cairn;

TEST_CASE("make_folder: it makes what is missing, and leaves what is there") {
  const folder here;
  detail::make_folder(here.path / "a/b/c");
  CHECK(std::filesystem::is_directory(here.path / "a/b/c"));
  detail::make_folder(here.path / "a/b/c/");
  detail::make_folder_of(here.path / "a/d/file.csv");
  CHECK(std::filesystem::is_directory(here.path / "a/d"));
  CHECK(!std::filesystem::exists(here.path / "a/d/file.csv"));
  detail::make_folder_of("file.csv"); // in the current folder, so there is none to make
}

TEST_CASE("make_folder: a new folder's name is safe in the folder above it, and what was there is left alone") {
  const folder here;
  const testing::recording all;
  detail::make_folder(here.path / "a/b");
  detail::make_folder(here.path / "a/b/");
  detail::make_folder(here.path / "a/c");
  std::vector<std::string> synced;
  for (const testing::system_call& call : all.calls())
    if (call.name == "fsync") synced.push_back(call.path);
  const std::string top = std::filesystem::canonical(here.path);
  CHECK(synced == std::vector<std::string>{top, top + "/a", top + "/a"});
}

TEST_CASE("make_folder: a file in the way is named") {
  const folder here;
  std::ofstream(here.path / "a") << "text";
  CHECK_THROWS_WITH_AS(detail::make_folder(here.path / "a/b"), doctest::Contains("found a file of that name"), file_error);
  CHECK_THROWS_WITH_AS(detail::make_folder(here.path / "a"), doctest::Contains("found a file of that name"), file_error);
  CHECK_THROWS_WITH_AS(detail::make_folder("/proc/cairn/a"), doctest::Contains("'/proc/cairn' of '/proc/cairn/a'"), file_error);
}

} // namespace make_folder_tests
