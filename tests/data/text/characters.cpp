// SPDX-License-Identifier: MIT
#include <cairn/data/text/characters.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/data/text/bytes.hpp>
#include <cairn/data/text/read_text.hpp>
#include <doctest/doctest.h>

namespace characters_tests {

using namespace cairn;
using tokens = std::vector<std::int32_t>;

TEST_CASE("characters: the vocabulary of a text is sorted by code point, each character once") {
  const text::characters letters{"banana!\n"};
  CHECK(letters.size() == 5);
  CHECK(letters.alphabet() == "\n!abn");
  CHECK(letters.encode("nab\n") == tokens{4, 2, 3, 0});
  CHECK(letters.encode("").empty());
  CHECK(letters.decode(tokens{3, 2, 4, 2, 4, 2, 1}) == "banana!");
  const text::characters again{letters.alphabet()};
  CHECK(again.encode("banana!") == letters.encode("banana!"));
}

TEST_CASE("characters: a character of several bytes is one token") {
  const std::string all = "z\xF0\x9F\xAA\xA8\xE2\x82\xAC\xC3\xA9z\xE2\x82\xAC"; // z, U+1FAA8, U+20AC, U+00E9, z, U+20AC
  const text::characters letters{all};
  CHECK(letters.size() == 4);
  CHECK(letters.alphabet() == "z\xC3\xA9\xE2\x82\xAC\xF0\x9F\xAA\xA8");
  CHECK(letters.encode(all) == tokens{0, 3, 2, 1, 0, 2});
  CHECK(letters.decode(letters.encode(all)) == all);
}

TEST_CASE("characters: an unknown character is named with its place, and so is an unknown token") {
  const text::characters letters{"ab\n"};
  CHECK_THROWS_WITH_AS(letters.encode("ab\nb\xC3\xA9"),
                       "characters::encode: byte 4 (line 2, column 2): expected one of the 3 characters of the vocabulary, found "
                       "'\xC3\xA9' (U+00E9); make the vocabulary from all texts that will be encoded",
                       input_error);
  CHECK_THROWS_WITH_AS(letters.encode("c"), doctest::Contains("byte 0 (line 1, column 1)"), input_error);
  CHECK_THROWS_WITH_AS(letters.encode("\xFF"), doctest::Contains("found the byte 0xFF, which is no UTF-8"), input_error);
  CHECK_THROWS_WITH_AS(letters.decode(tokens{0, 3}),
                       "characters::decode: expected tokens from 0 to 2, found 3 as number 1 of 2; decode tokens by the "
                       "vocabulary that encoded them",
                       input_error);
  CHECK_THROWS_WITH_AS(letters.decode(tokens{-1}), doctest::Contains("found -1 as number 0 of 1"), input_error);
}

TEST_CASE("characters: a vocabulary needs UTF-8, and a character") {
  CHECK_THROWS_WITH_AS(text::characters{"ab\x80"},
                       "characters: byte 2 (line 1, column 3): expected UTF-8, found the byte 0x80, which is no UTF-8; bytes as "
                       "tokens, text::bytes, take any text",
                       input_error);
  CHECK_THROWS_WITH_AS(text::characters{""}, doctest::Contains("expected a text of one character or more"), input_error);
}

TEST_CASE("characters: the real tiny Shakespeare, where CAIRN_DATA says it is") {
  const char* const data = std::getenv("CAIRN_DATA");
  if (data == nullptr) {
    std::puts("characters: CAIRN_DATA is not set, so that tiny Shakespeare is not read");
    return;
  }
  const std::string all = text::read_text(std::string(data) + "/tinyshakespeare/input.txt");
  CHECK(all.size() == 1115394);
  const text::characters letters{all};
  CHECK(letters.size() == 65);
  CHECK(letters.alphabet() == "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
  CHECK(letters.encode("First") == tokens{18, 47, 56, 57, 58}); // as nanoGPT's data/shakespeare_char
  CHECK(letters.decode(letters.encode(all)) == all);
  CHECK(text::bytes::decode(text::bytes::encode(all)) == all);
}

} // namespace characters_tests
