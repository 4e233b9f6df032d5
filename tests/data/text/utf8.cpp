// SPDX-License-Identifier: MIT
#include <cairn/data/text/utf8.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace utf8_tests {

using namespace cairn;
using detail::first_that_is_no_utf8;

TEST_CASE("utf8: UTF-8 is what RFC 3629 says, for every character and every two bytes") {
  std::size_t wrong = 0;
  for (unsigned c = 0; c <= 0x110FFF; ++c) { // every code point encoded by its definition, surrogates and too large ones too
    std::string text;
    const auto more = [&](unsigned shift) { return static_cast<char>(0x80U | (c >> shift & 0x3FU)); };
    if (c < 0x80) text = {static_cast<char>(c)};
    else if (c < 0x800) text = {static_cast<char>(0xC0U | c >> 6U), more(0)};
    else if (c < 0x10000) text = {static_cast<char>(0xE0U | c >> 12U), more(6), more(0)};
    else text = {static_cast<char>(0xF0U | c >> 18U), more(12), more(6), more(0)};
    const bool is_right = c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
    wrong += (first_that_is_no_utf8(text) == text.size()) != is_right;
    if (text.size() > 1) wrong += first_that_is_no_utf8(std::string_view(text).substr(0, text.size() - 1)) != 0;
  }
  CHECK(wrong == 0);
  for (const char* longer : {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xF5\x80\x80\x80", "\xFF", "\x80"})
    CHECK(first_that_is_no_utf8("ab" + std::string(longer)) == 2);
}

TEST_CASE("utf8: an error shows the beginning of a long text, and whole characters of it") {
  CHECK(detail::beginning_of(std::string(100, 'x')) == std::string(100, 'x'));
  CHECK(detail::beginning_of(std::string(101, 'x')) == std::string(100, 'x') + "...");
  CHECK(detail::beginning_of(std::string(99, 'x') + "\xC3\xA9 and more") == std::string(99, 'x') + "...");
}

TEST_CASE("utf8: each code point is read back from the bytes that append_utf8 writes, and ends where they end") {
  std::size_t wrong = 0;
  for (std::uint32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    detail::append_utf8(text, static_cast<char32_t>(c));
    const std::size_t bytes = text.size();
    text += 'x';
    const auto found = detail::utf8_at(text, 0);
    wrong += found.bytes != bytes || found.code != static_cast<char32_t>(c);
  }
  CHECK(wrong == 0);
  static_assert(detail::utf8_at("\xE2\x82\xAC", 0).code == 0x20AC);
  static_assert(detail::utf8_at("\xE2\x82", 0).bytes == 0); // cut off
}

TEST_CASE("utf8: errors show a character, its code point and its place") {
  using detail::place_in;
  using detail::shown_character;
  CHECK(shown_character("xA", 1) == "'A' (U+0041)");
  CHECK(shown_character("\n", 0) == "U+000A");
  CHECK(shown_character(" ", 0) == "U+0020");
  CHECK(shown_character("\xF0\x9F\xAA\xA8", 0) == "'\xF0\x9F\xAA\xA8' (U+1FAA8)");
  CHECK(shown_character("\xFFzz", 0) == "the byte 0xFF, which is no UTF-8");
  CHECK(place_in("abc", 2) == "byte 2 (line 1, column 3)");
  CHECK(place_in("a\nbc\n\xC3\xA9x", 7) == "byte 7 (line 3, column 2)");
}

} // namespace utf8_tests
