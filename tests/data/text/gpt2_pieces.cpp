// SPDX-License-Identifier: MIT
#include <cairn/data/text/gpt2_pieces.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace gpt2_pieces_tests {

using namespace cairn;

namespace {

using pieces = std::vector<std::string>;
pieces cut(std::string_view text) {
  pieces out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = detail::end_of_piece(text, at);
    REQUIRE(end > at);
    out.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

} // namespace

TEST_CASE("gpt2_pieces: words, numbers and signs, with the space before them") {
  CHECK(cut("Hello world, 42!") == pieces{"Hello", " world", ",", " 42", "!"});
  CHECK(cut("x2 3.14") == pieces{"x", "2", " 3", ".", "14"});
  CHECK(cut("a_b--c") == pieces{"a", "_", "b", "--", "c"});
  CHECK(cut("\xC3\xA9t\xC3\xA9 \xE7\x9F\xB3") == pieces{"\xC3\xA9t\xC3\xA9", " \xE7\x9F\xB3"});
}

TEST_CASE("gpt2_pieces: the seven endings, in lower case only") {
  CHECK(cut("it's I've we'll they're he'd I'm don't") ==
        pieces{"it", "'s", " I", "'ve", " we", "'ll", " they", "'re", " he", "'d", " I", "'m", " don", "'t"});
  CHECK(cut("IT'S") == pieces{"IT", "'", "S"});
  CHECK(cut("'sun") == pieces{"'s", "un"});
  CHECK(cut(" 's") == pieces{" '", "s"});
  CHECK(cut("!'s") == pieces{"!'", "s"});
  CHECK(cut("'") == pieces{"'"});
}

TEST_CASE("gpt2_pieces: of white space the last character goes with what follows") {
  CHECK(cut("a  b") == pieces{"a", " ", " b"});
  CHECK(cut("a   b") == pieces{"a", "  ", " b"});
  CHECK(cut("a\n\nb") == pieces{"a", "\n", "\n", "b"});
  CHECK(cut("a \nb") == pieces{"a", " ", "\n", "b"});
  CHECK(cut("a\nb") == pieces{"a", "\n", "b"});
  CHECK(cut("a  ") == pieces{"a", "  "});
  CHECK(cut(" ") == pieces{" "});
  CHECK(cut("\xE3\x80\x80\xE3\x80\x80z") == pieces{"\xE3\x80\x80", "\xE3\x80\x80", "z"}); // U+3000 twice
}

TEST_CASE("gpt2_pieces: bytes that are no UTF-8 are signs") {
  CHECK(cut("a\xFF\xFE"
            "b") == pieces{"a", "\xFF\xFE", "b"});
  CHECK(cut("\xE2\x82") == pieces{"\xE2\x82"});
  CHECK(cut(" \x80!") == pieces{" \x80!"});
}

} // namespace gpt2_pieces_tests
