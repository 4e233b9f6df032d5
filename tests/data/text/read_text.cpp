// SPDX-License-Identifier: MIT
#include <cairn/data/text/read_text.hpp>

#include <fstream>
#include <string>

#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

#include "../folder.hpp"

namespace read_text_tests {

using namespace cairn;

TEST_CASE("read_text: a file is read byte for byte") {
  const folder here;
  std::string all("\xEF\xBB\xBF line\r\n\0 end", 15);
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::string path = here.path / "file";
  std::ofstream(path, std::ios::binary) << all;
  CHECK(text::read_text(path) == all);
  std::ofstream(path, std::ios::binary | std::ios::trunc).flush();
  CHECK(text::read_text(path).empty());
}

TEST_CASE("read_text: what is no file is refused by its path") {
  const folder here;
  const std::string absent = here.path / "absent";
  CHECK_THROWS_WITH_AS(text::read_text(absent),
                       (absent + ": expected a text, found No such file or directory; check the path").c_str(), file_error);
  CHECK_THROWS_WITH_AS(text::read_text(here.path), doctest::Contains("expected a text, found Is a directory"), file_error);
  CHECK_THROWS_WITH_AS(text::read_text("/dev/null"), doctest::Contains("found a pipe, a device or a socket"), file_error);
}

} // namespace read_text_tests
