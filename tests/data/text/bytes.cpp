// SPDX-License-Identifier: MIT
#include <cairn/data/text/bytes.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

namespace bytes_tests {

using namespace cairn;

TEST_CASE("bytes: each byte is the token of its value") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::vector<std::int32_t> tokens = text::bytes::encode(all);
  REQUIRE(tokens.size() == 256);
  for (std::size_t i = 0; i < 256; ++i) CHECK(tokens[i] == static_cast<std::int32_t>(i));
  CHECK(text::bytes::decode(tokens) == all);
  static_assert(text::bytes::size() == 256);
}

TEST_CASE("bytes: a token that is no byte is refused") {
  CHECK_THROWS_WITH_AS(
      text::bytes::decode(std::vector<std::int32_t>{65, 256}),
      "bytes::decode: expected tokens from 0 to 255, found 256 as number 1 of 2; decode tokens by the vocabulary "
      "that encoded them",
      input_error);
}

} // namespace bytes_tests
