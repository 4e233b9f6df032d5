// SPDX-License-Identifier: MIT
#include "../../examples/found_pictures.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

namespace found_pictures_tests {

TEST_CASE("found_pictures: CIFAR-10 where there is a folder of it, generated ones where none is named, else an error") {
  std::FILE* const out = std::tmpfile();
  const char* const set = std::getenv("CAIRN_DATA");
  const std::string before = set == nullptr ? "" : set;
  const auto root = std::filesystem::temp_directory_path() / ("cairn-pictures-" + std::to_string(::getpid()));
  ::setenv("CAIRN_DATA", root.c_str(), 1); // not there yet
  const auto drawn = found_pictures("", out, {.train = 3, .test = 2});
  CHECK(drawn.train.size() == 3);
  CHECK(drawn.test.size() == 2);
  CHECK_THROWS_AS(found_pictures("/nowhere/cifar10", out), cairn::file_error);
  std::filesystem::create_directories(root / "cifar10");
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "test_batch.bin"})
    std::ofstream(root / "cifar10" / name, std::ios::binary) << std::string(2 * 3073, '\4');
  CHECK(found_pictures("", nullptr).train.size() == 4); // and says nothing
  const auto read = found_pictures("", out);
  CHECK(read.train.size() == 4);
  CHECK(read.train.labels()[3] == 4);
  CHECK(read.test.size() == 2);
  std::rewind(out);
  char line[300] = "";
  CHECK(std::string(std::fgets(line, sizeof line, out)).starts_with("pictures: generated ones"));
  CHECK(std::string(std::fgets(line, sizeof line, out)) ==
        "pictures: CIFAR-10 from " + (root / "cifar10").string() + ", a part of it: 4 to train with and 2 to test with\n");
  std::fclose(out);
  std::filesystem::remove_all(root);
  if (set == nullptr) ::unsetenv("CAIRN_DATA");
  else ::setenv("CAIRN_DATA", before.c_str(), 1);
}

} // namespace found_pictures_tests
